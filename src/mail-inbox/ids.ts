import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const bytesEach = 16;
const random = Buffer.alloc(256 * bytesEach);
let used = random.length;
let count = 0;

/** A UUIDv7, later than those before. Asking the system for its random bytes one by one would take longer than all else that is done for a notification. */
export function makeId(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += bytesEach;
  count = (count + 1) >>> 0;
  return v7({ random: random.subarray(used - bytesEach, used), seq: count });
}
