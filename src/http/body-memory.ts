/**
 * The memory of this process that request bodies take while they arrive. A client may take its time over a body, and open
 * many connections: so what all of them hold together is bounded, for one sender, for a group of senders, and in all.
 */
import { LimitExceeded, Unavailable } from '../errors.ts';

type Part = { key: string; name: string };
/** Whose bodies are counted together. */
export type BodySender = { own: Part; group: Part };

export const personSends = ({ mandatorId, personId }: { mandatorId: number; personId: number }): BodySender => ({
  own: { key: `person ${mandatorId} ${personId}`, name: 'person' },
  group: { key: `tenant ${mandatorId}`, name: 'tenant' },
});
/** @param address as callers are counted by, of IPv6 the /64 */
export const addressSends = (address: string): BodySender => ({
  own: { key: `address ${address}`, name: 'address' },
  group: { key: 'anonymous', name: 'kind, of callers without credentials,' },
});
/** Of a mail server that has proven itself. */
export const subscriptionSends = (id: number): BodySender => ({
  own: { key: `subscription ${id}`, name: 'subscription' },
  group: { key: 'subscriptions', name: 'kind, of mail servers,' },
});

/** Bytes of each body that are not counted: its connection and its headers cost as much. */
const uncounted = 16_384;
/** In bodies of the largest size. */
const most = { own: 16, group: 32, all: 128 };
const all: Part = { key: 'all', name: '' };
/** Seconds after which a refused client may come again. */
const retryAfter = 10;

/** Of this process, whatever it serves. */
const held = new Map<string, number>();
const heldBy = ({ key }: Part) => held.get(key) ?? 0;

function count({ own, group }: BodySender, bytes: number): void {
  for (const part of [own, group, all]) {
    const left = heldBy(part) + bytes;
    if (left > 0) held.set(part.key, left);
    else held.delete(part.key);
  }
}

/** @throws LimitExceeded when the sender or its group holds all that it may, Unavailable when all do */
function checkRoom({ own, group }: BodySender, bytes: number, largest: number): void {
  for (const [part, bodies] of [
    [own, most.own],
    [group, most.group],
  ] as const)
    if (heldBy(part) + bytes > bodies * largest)
      throw new LimitExceeded(
        `Bodies of this ${part.name} that are still arriving hold ${bodies * largest} bytes already; send this one when one of them has been answered.`,
        retryAfter,
      );
  if (heldBy(all) + bytes > most.all * largest)
    throw new Unavailable(
      'Bodies that are still arriving hold all the memory that there is for them; send the same request again.',
    );
}

export type BodyAccount = {
  /** Says how many bytes there are now. @throws LimitExceeded, Unavailable when there is no room for them */
  hold(bytes: number): void;
};

/**
 * What one body, or one message of a WebSocket, holds while it arrives.
 * @param largest bytes of the largest body that any route takes in memory
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
  /** @throws LimitExceeded, Unavailable when there is no room for it */
  append(bytes: Uint8Array): void;
  /** All of them, in one piece. */
  bytes(): Buffer;
  /** Gives everything back; may be called again. */
  clear(): void;
};

/** Bytes of an import that are kept in memory; a larger one waits in a file. */
export const mostOfImport = 1_048_576;

const nothing = Buffer.alloc(0);

/** One piece of memory, however small the parts are in which bytes come; parameters as of `openAccount`. */
export function openMemory(sender: BodySender, largest: number): BodyMemory {
  let memory = nothing;
  let size = 0;
  const account = openAccount(sender, largest);
  return {
    append(bytes) {
      account.hold(size + bytes.length);
      if (size + bytes.length > memory.length) {
        // Not of the pool: a small body would keep a whole slab of it.
        const larger = Buffer.allocUnsafeSlow(Math.max(size + bytes.length, 2 * size));
        memory.copy(larger, 0, 0, size);
        memory = larger;
      }
      memory.set(bytes, size);
      size += bytes.length;
    },
    bytes: () => memory.subarray(0, size),
    clear() {
      account.hold(0);
      [memory, size] = [nothing, 0];
    },
  };
}
