/**
 * Requests that wait to be recorded, in a lane for each sender. Lanes are served in turn, so that a sender waits behind its
 * own requests only. When too much waits, the longest lane loses its newest, lanes of unproven senders first.
 */
export type WaitingPost = {
  /** Of what it waits with: a tenant, or an address. */
  lane: string;
  isProven: boolean;
  rows: number;
  bytes: number;
};

type PostLane<Post> = { posts: Post[]; size: number; isProven: boolean };

/** What waits takes memory besides its bytes. */
const overhead = 16 * 1024;
const sizeOf = ({ bytes }: WaitingPost) => bytes + overhead;

/** @param most in bytes, of which each post takes 16 KiB besides its own */
export function openLanes<Post extends WaitingPost>(most: number) {
  /** In the order of their turns. */
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

  function giveWay(): Post {
    const isLess = (one: PostLane<Post>, other: PostLane<Post>) =>
      one.isProven === other.isProven ? one.size < other.size : one.isProven;
    const [name, lane] = lanes.entries().reduce((longest, entry) => (isLess(longest[1], entry[1]) ? entry : longest));
    return remove(name, lane, -1);
  }

  return {
    get count() {
      return count;
    },

    /** @returns what has had to give way, which may be `post` itself */
    add(post: Post): Post[] {
      let lane = lanes.get(post.lane);
      if (!lane) lanes.set(post.lane, (lane = { posts: [], size: 0, isProven: post.isProven }));
      lane.posts.push(post);
      lane.size += sizeOf(post);
      size += sizeOf(post);
      count += 1;
      const lost: Post[] = [];
      while (size > most) lost.push(giveWay());
      return lost;
    },

    /** Takes the next of each lane in turn, until it is enough for one statement; at least one where there is any. */
    take({ rows, bytes }: { rows: number; bytes: number }): Post[] {
      const taken: Post[] = [];
      for (const [name, lane] of lanes) {
        const [post] = lane.posts as [Post];
        rows -= post.rows;
        bytes -= post.bytes;
        if (taken.length > 0 && (rows < 0 || bytes < 0)) break;
        taken.push(remove(name, lane, 0));
        lanes.delete(name);
        // A loop over a map comes to what is added meanwhile.
        if (lane.posts.length > 0) lanes.set(name, lane);
      }
      return taken;
    },

    /** Takes away what is `late`. */
    expire(late: (post: Post) => boolean): Post[] {
      const expired: Post[] = [];
      for (const [name, lane] of lanes)
        for (let at = lane.posts.length - 1; at >= 0; at--)
          if (late(lane.posts[at] as Post)) expired.push(remove(name, lane, at));
      return expired;
    },
  };
}
