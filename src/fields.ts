/** The members of what clients send: in Pascal case on the wire, in camel case in the services. */

/** The members of a body as the services name them. */
export type Fields<Body> = {
  [Name in keyof Body as Uncapitalize<Name & string>]: Exclude<Body[Name], undefined>;
};

/** A body that a schema has read. */
export function toFields<Body extends object>(body: Body): Fields<Body> {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name.charAt(0).toLowerCase() + name.slice(1), value]),
  ) as Fields<Body>;
}
