/**
 * Requests that wait to be recorded, in one lane per sender. Lanes are served in turn, so a sender waits only behind its own
 * requests. When the requests take too much memory, the longest lane loses its newest ones, lanes of unproven senders first.
 */
export type WaitingPost = {
  /** The name of the lane: a tenant, subscription or address. */
  lane: string;
  isProven: boolean;
  rows: number;
  bytes: number;
};

type PostLane<Post> = { posts: Post[]; size: number; isProven: boolean };

/** The memory that a waiting request takes besides its body. */
const overhead = 16 * 1024;
const sizeOf = ({ bytes }: WaitingPost) => bytes + overhead;

/** @param most the most bytes that may wait; each post counts 16 KiB besides its body */
export function openLanes<Post extends WaitingPost>(most: number) {
  /** The lanes in the order of their turns. */
  const lanes = new Map<string, PostLane<Post>>();
  let [size, count] = [0, 0];

  function remove(name: string, lane: PostLane<Post>, at: number): Post {
    const [post] = lane.posts.splice(at, 1) as [Post];
    lane.size -= sizeOf(post);
    size -= sizeOf(post);
    count -= 1;
    if (lane.posts.length === 0) lanes.delete(name);
    return post;
  }

  function drop(): Post {
    const isLess = (one: PostLane<Post>, other: PostLane<Post>) =>
      one.isProven === other.isProven ? one.size < other.size : one.isProven;
    const [name, lane] = lanes.entries().reduce((longest, entry) => (isLess(longest[1], entry[1]) ? entry : longest));
    return remove(name, lane, -1);
  }

  return {
    get count() {
      return count;
    },

    /** @returns the posts that were dropped for lack of memory, which may include `post` */
    add(post: Post): Post[] {
      let lane = lanes.get(post.lane);
      if (!lane) lanes.set(post.lane, (lane = { posts: [], size: 0, isProven: post.isProven }));
      lane.posts.push(post);
      lane.size += sizeOf(post);
      size += sizeOf(post);
      count += 1;
      const lost: Post[] = [];
      while (size > most) lost.push(drop());
      return lost;
    },

    /** Takes the next post of each lane in turn, up to the size of one statement, but at least one where any waits. */
    take({ rows, bytes }: { rows: number; bytes: number }): Post[] {
      const taken: Post[] = [];
      for (const [name, lane] of lanes) {
        const [post] = lane.posts as [Post];
        rows -= post.rows;
        bytes -= post.bytes;
        if (taken.length > 0 && (rows < 0 || bytes < 0)) break;
        taken.push(remove(name, lane, 0));
        lanes.delete(name);
        // The loop visits entries that are added during it, so it comes back to the lane.
        if (lane.posts.length > 0) lanes.set(name, lane);
      }
      return taken;
    },

    expire(late: (post: Post) => boolean): Post[] {
      const expired: Post[] = [];
      for (const [name, lane] of lanes)
        for (let at = lane.posts.length - 1; at >= 0; at--)
          if (late(lane.posts[at] as Post)) expired.push(remove(name, lane, at));
      return expired;
    },
  };
}
