/**
 * Makes something of an object once, and keeps it for as long as the object lives. The object must not change.
 * @param make must not return undefined
 */
export function onceFor<Source extends object, Made>(make: (source: Source) => Made): (source: Source) => Made {
  const kept = new WeakMap<Source, Made>();
  return (source) => {
    let made = kept.get(source);
    if (made === undefined) kept.set(source, (made = make(source)));
    return made;
  };
}
