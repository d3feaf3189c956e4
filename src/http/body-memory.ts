/**
 * The memory of request bodies while they arrive. A client may send slowly and over many connections, so this memory is
 * bounded: for one sender, for a group of senders, and for all groups together beyond the share that is reserved for
 * each. However many tenants there are, each has memory for two of the largest bodies, and all share memory for 128
 * more.
 */
import { LimitExceeded, Unavailable } from '../errors.ts';

type Part = { key: string; name: string };
/** Bodies are counted by sender and by group. */
export type BodySender = { own: Part; group: Part };

export const personSends = ({ mandatorId, personId }: { mandatorId: number; personId: number }): BodySender => ({
  own: { key: `person ${mandatorId} ${personId}`, name: 'person' },
  group: { key: `tenant ${mandatorId}`, name: 'tenant' },
});
/** @param address an IPv4 address, or the /64 of an IPv6 address */
export const addressSends = (address: string): BodySender => ({
  own: { key: `address ${address}`, name: 'address' },
  group: { key: 'anonymous', name: 'kind, of callers without credentials,' },
});
/** The sender is a mail server that has shown the secret of its subscription. */
export const subscriptionSends = (id: number): BodySender => ({
  own: { key: `subscription ${id}`, name: 'subscription' },
  group: { key: 'subscriptions', name: 'kind, of mail servers,' },
});

/** The first bytes of each body, which are not counted: its connection and headers take as much memory. */
const uncounted = 16_384;
/** Limits, in bodies of the largest size. A group's first `share` bodies do not count towards `all`. */
const most = { own: 16, group: 32, share: 2, all: 128 };
/** Seconds after which a refused client may try again. */
const retryAfter = 10;

/** Bytes held by key. Module state, since the memory it bounds is that of the whole process. */
const held = { own: new Map<string, number>(), group: new Map<string, number>() };
const heldBy = (kind: keyof typeof held, { key }: Part) => held[kind].get(key) ?? 0;

function count(sender: BodySender, bytes: number): void {
  for (const kind of ['own', 'group'] as const) {
    const left = heldBy(kind, sender[kind]) + bytes;
    if (left > 0) held[kind].set(sender[kind].key, left);
    else held[kind].delete(sender[kind].key);
  }
}

/** @throws LimitExceeded when the sender or its group would hold too much; Unavailable when all groups together would */
function checkRoom(sender: BodySender, bytes: number, largest: number): void {
  for (const kind of ['own', 'group'] as const)
    if (heldBy(kind, sender[kind]) + bytes > most[kind] * largest)
      throw new LimitExceeded(
        `Bodies of this ${sender[kind].name} that have not fully arrived already take ${most[kind] * largest} bytes; send this one when one of them has been answered.`,
        retryAfter,
      );
  const share = most.share * largest;
  if (heldBy('group', sender.group) + bytes <= share) return;
  const beyondShares = [...held.group.values()].reduce((sum, group) => sum + Math.max(0, group - share), 0);
  if (beyondShares + bytes > most.all * largest)
    throw new Unavailable(
      'Bodies that have not fully arrived take all the memory reserved for them; send the same request again.',
    );
}

export type BodyAccount = {
  /** Sets the number of bytes held. @throws LimitExceeded, Unavailable when there is no room for them */
  hold(bytes: number): void;
};

/**
 * Accounts for the memory of one body, or one WebSocket message, while it arrives.
 * @param largest bytes of the largest body that any route keeps in memory
 */
export function openAccount(sender: BodySender, largest: number): BodyAccount {
  let counted = 0;
  return {
    hold(bytes) {
      const more = Math.max(0, bytes - uncounted) - counted;
      if (more === 0) return;
      if (more > 0) checkRoom(sender, more, largest);
      count(sender, more);
      counted += more;
    },
  };
}

export type BodyMemory = {
  /** @throws LimitExceeded, Unavailable when there is no room for them */
  append(bytes: Uint8Array): void;
  /** All bytes, in one piece. */
  bytes(): Buffer;
  /** Frees the memory; may be called twice. */
  clear(): void;
};

/** Bytes of an import that are kept in memory; a larger one is kept in a file. */
export const mostOfImport = 1_048_576;

const nothing = Buffer.alloc(0);

/** Collects a body in one piece of memory, however small its chunks; parameters as of `openAccount`. */
export function openMemory(sender: BodySender, largest: number): BodyMemory {
  let memory = nothing;
  let size = 0;
  const account = openAccount(sender, largest);
  return {
    append(bytes) {
      const least = size + bytes.length;
      if (least > memory.length) {
        const length = Math.max(least, Math.min(2 * size, largest));
        account.hold(length);
        // Not from Node's buffer pool: a small body would keep a whole slab of it alive.
        const larger = Buffer.allocUnsafeSlow(length);
        memory.copy(larger, 0, 0, size);
        memory = larger;
      }
      memory.set(bytes, size);
      size = least;
    },
    bytes: () => memory.subarray(0, size),
    clear() {
      account.hold(0);
      [memory, size] = [nothing, 0];
    },
  };
}

export type BodyBeginning = {
  memory: BodyMemory;
  /** Whether it is the whole body. */
  isWhole: boolean;
};

/**
 * Keeps a body in memory until it ends or is larger than `mostOfImport`. When this fails, the memory is free and the rest is
 * discarded, not awaited, while the client is answered; parameters as of `openAccount`.
 * @throws LimitExceeded, Unavailable as `openMemory`; what `chunks` throws
 */
export async function readBeginning(
  chunks: AsyncIterator<Uint8Array>,
  sender: BodySender,
  largest: number,
): Promise<BodyBeginning> {
  const memory = openMemory(sender, largest);
  try {
    while (memory.bytes().length <= mostOfImport) {
      const next = await chunks.next();
      if (next.done) return { memory, isWhole: true };
      memory.append(next.value);
    }
    return { memory, isWhole: false };
  } catch (error) {
    memory.clear();
    chunks.return?.().catch(() => {});
    throw error;
  }
}
