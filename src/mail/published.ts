/**
 * How far a published calendar is trusted. Some publishers give the same items new UIDs at each reading, or publish only half of
 * them for an hour. So an item with a new id and the same content is the same item, and an item is gone only once two readings
 * in a row lack it.
 */
import { ServerFault } from '../mail-servers/service.ts';
import type { MailItem } from './items.ts';
import type { Calendar } from './reading.ts';
import type { ItemStep, StoredItem } from './stored-items.ts';

/** This many items may be missing at once, even if they are most of the calendar. */
const fewItems = 3;

const isGone = (step: ItemStep): step is { stored: StoredItem; item: null } => step.item === null;
const isNew = (step: ItemStep): step is ItemStep & { item: MailItem } =>
  step.item !== null && (step.stored === undefined || step.stored.state === 'Gone');

/** Leaves out pairs of a gone and a new item with the same content. */
function withoutRenamed(steps: readonly ItemStep[]): ItemStep[] {
  const gone = Map.groupBy(steps.filter(isGone), ({ stored }) => stored.hash.toString('hex'));
  const renamed = new Set<ItemStep>();
  for (const step of steps.filter(isNew)) {
    const before = gone.get(step.item.hash.toString('hex'))?.pop();
    if (before) renamed.add(before).add(step);
  }
  return steps.filter((step) => !renamed.has(step));
}

/**
 * @returns the steps to take, and the ids of the items that are missing for the first time
 * @throws ServerFault when more than half of the items are missing, unless an operator has asked to take the calendar as it is
 */
export function believe(
  planned: readonly ItemStep[],
  stored: readonly StoredItem[],
  isWhole: boolean,
  { readWholeAt, missingItems }: Calendar,
): { steps: ItemStep[]; missing: number[] } {
  const steps = withoutRenamed(planned);
  if (!isWhole || readWholeAt === null) return { steps, missing: [] };
  const lacking = steps.filter(isGone).map((step) => step.stored);
  const alive = stored.filter(({ state, hasEnded }) => state !== 'Gone' && !hasEnded);
  if (lacking.length > fewItems && lacking.length * 2 > alive.length)
    throw new ServerFault(
      'Unreadable',
      `It lacks ${lacking.length} of its previous ${alive.length} items, so nothing is changed; "roomgate mail read --whole" accepts it as it is.`,
    );
  const before = new Set(missingItems);
  const missing = new Set(lacking.map(({ id }) => id).filter((id) => !before.has(id)));
  return { steps: steps.filter((step) => !(isGone(step) && missing.has(step.stored.id))), missing: [...missing] };
}
