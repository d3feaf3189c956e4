/** The state of the view is kept in the address, `?screen=rooms&day=2026-11-22&…`: Back works, and an address can be shared. */
import { computed, signal } from '@preact/signals';

const search = signal(location.search);
addEventListener('popstate', () => {
  search.value = location.search;
});

/** The members of the address. */
export const place = computed<Readonly<Record<string, string>>>(() =>
  Object.fromEntries(new URLSearchParams(search.value)),
);

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

/** @param how `replace` for changes that Back must not undo one by one, such as typing a search */
export function go(changes: Readonly<Record<string, string | undefined>>, how: 'push' | 'replace' = 'push'): void {
  const address = addressWith(changes);
  if (address === location.search) return;
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', address);
  search.value = address;
}

/** Another screen, without what belongs to the present one. */
export function goToScreen(name: string, members: Readonly<Record<string, string>> = {}): void {
  const address = addressWith(members, { screen: name });
  if (address !== location.search) history.pushState(null, '', address);
  search.value = address;
}
