/** Records that many fields of one answer ask for are read together: of a page of resources all locations at once. */
import type { Context, Viewer } from '../context.ts';

/** Reads the records of these ids for a viewer, and leaves out those that its tenant does not have. */
export type Read<Value> = (
  db: Context['db'],
  viewer: Viewer,
  ids: readonly number[],
) => Promise<ReadonlyMap<number, Value>>;

type Gathering = { ids: Set<number>; found: Promise<ReadonlyMap<number, unknown>> };
export type Loaders = Map<Read<unknown>, Gathering>;

/**
 * The record of an id, read with all others that the same call asks for until its resolvers have run. Belongs to the
 * call, and so to one viewer and tenant; nothing is kept for later, so that a stream reads afresh.
 */
export async function load<Value>(
  { context, viewer, loaders }: { context: Context; viewer: Viewer; loaders: Loaders },
  read: Read<Value>,
  id: number,
): Promise<Value | undefined> {
  let gathering = loaders.get(read);
  if (!gathering) {
    const ids = new Set<number>();
    const found = resolversHaveRun().then(() => {
      loaders.delete(read);
      return read(context.db, viewer, [...ids]);
    });
    gathering = { ids, found };
    loaders.set(read, gathering);
  }
  gathering.ids.add(id);
  return (await gathering.found).get(id) as Value | undefined;
}

/** After all promises that are settled already have called their listeners. */
const resolversHaveRun = () =>
  new Promise<void>((resolve) => void Promise.resolve().then(() => process.nextTick(resolve)));
