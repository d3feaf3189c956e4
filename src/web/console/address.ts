/** The state of the view is kept in the address, `?screen=rooms&day=2026-11-22&…`: Back works, and an address can be shared. */
import { computed, signal } from '@preact/signals';

const search = signal(location.search);

/** What happens to the history, in order: going back takes the browser a while, and what follows waits for it. */
type Step = { address: string; how: 'push' | 'replace' | 'leave' };
const steps: Step[] = [];
let isGoingBack = false;

/** Each entry of the history knows the address of the one before it. */
const before = (): string | undefined => history.state?.before;

function take({ address, how }: Step): void {
  if (how === 'push') history.pushState({ before: addressWith({}, membersOf(location.search)) }, '', address);
  else if (how === 'leave' && before() === address) {
    isGoingBack = true;
    history.back();
  } else history.replaceState(history.state, '', address);
}

function walk(...next: readonly Step[]): void {
  steps.push(...next);
  while (!isGoingBack && steps[0]) take(steps.shift() as Step);
}

addEventListener('popstate', () => {
  isGoingBack = false;
  walk();
  if (!isGoingBack) search.value = location.search;
});

const membersOf = (address: string) => Object.fromEntries(new URLSearchParams(address));

/** The members of the address. */
export const place = computed<Readonly<Record<string, string>>>(() => membersOf(search.value));

/** The address after these changes; members that are empty are left out. */
export function addressWith(
  changes: Readonly<Record<string, string | undefined>>,
  from: Readonly<Record<string, string>> = place.value,
): string {
  const members = Object.entries({ ...from, ...changes }).filter((member): member is [string, string] =>
    Boolean(member[1]),
  );
  return `?${new URLSearchParams(members)}`;
}

function show(step: Step): void {
  if (step.address !== search.value) walk(step);
  search.value = step.address;
}

/** @param how `replace` for changes that Back must not undo one by one, such as typing a search */
export const go = (changes: Readonly<Record<string, string | undefined>>, how: 'push' | 'replace' = 'push'): void =>
  show({ address: addressWith(changes), how });

/**
 * Closes what these members of the address name, one after the other: goes back to where each was opened, so that Back does not
 * open it again. What was open from the beginning has nowhere to go back to: the address is replaced.
 */
export function leave(...members: readonly string[]): void {
  for (const member of members)
    if (place.value[member] !== undefined) show({ address: addressWith({ [member]: undefined }), how: 'leave' });
}

/** Another screen, without what belongs to the present one. */
export const goToScreen = (name: string, members: Readonly<Record<string, string>> = {}): void =>
  show({ address: addressWith(members, { screen: name }), how: 'push' });
