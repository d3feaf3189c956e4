type Given<Input> = { [Name in keyof Input]?: NonNullable<Input[Name]> };

/** The members of an input that the client gave; null counts as left out. */
export const given = <Input extends object>(input: Input | null | undefined): Given<Input> =>
  Object.fromEntries(Object.entries(input ?? {}).filter(([, value]) => value != null)) as Given<Input>;
