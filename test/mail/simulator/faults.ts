/** Faults of the simulator: at random from a seed, or planned for the next requests. */

export const requestFaults = ['busy', 'unavailable', 'reset'] as const;
export const notificationFaults = ['drop', 'duplicate', 'delay', 'reorder', 'lostAnswer'] as const;
export type RequestFault = (typeof requestFaults)[number];
export type NotificationFault = (typeof notificationFaults)[number];
/** `failed`: of one item of a request. */
type Fault = RequestFault | NotificationFault | 'failed';
export type Face = 'Ews' | 'Graph' | 'Google';

export type Chances = { seed?: number; retryAfterSeconds?: number; delayMs?: number } & {
  [Name in Fault]?: number;
};
export type Once = { fault: Fault; times?: number; face?: Face; operation?: string };

/** mulberry32 */
function openDice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word = (word + Math.imul(word ^ (word >>> 7), word | 61)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function openFaults() {
  let chances: Chances = {};
  let roll = openDice(1);
  let planned: (Once & { times: number })[] = [];

  function take(fault: Fault, face: Face, operation: string): boolean {
    const plan = planned.find(
      (once) => once.fault === fault && (once.face ?? face) === face && operation.includes(once.operation ?? operation),
    );
    if (plan) {
      plan.times -= 1;
      if (plan.times === 0) planned = planned.filter((other) => other !== plan);
      return true;
    }
    const chance = chances[fault] ?? 0;
    return chance > 0 && roll() < chance;
  }

  return {
    roll: () => roll(),
    /** Replaces all chances; what is planned stays. */
    set(wanted: Chances): void {
      chances = wanted;
      if (wanted.seed !== undefined) roll = openDice(wanted.seed);
    },
    plan: (once: Once) => void planned.push({ times: 1, ...once }),
    clear(): void {
      chances = {};
      planned = [];
    },
    retryAfterSeconds: () => chances.retryAfterSeconds ?? 1,
    delayMs: () => chances.delayMs ?? 200,
    /** @param operation `Subscribe`, `GET /users/…` */
    ofRequest: (face: Face, operation: string) => requestFaults.find((fault) => take(fault, face, operation)),
    hasFailed: (face: Face, operation: string) => take('failed', face, operation),
    ofNotification: (fault: NotificationFault, face: Face, operation = '') => take(fault, face, operation),
  };
}

export type Faults = ReturnType<typeof openFaults>;
