type Given<Input> = { [Name in keyof Input]?: NonNullable<Input[Name]> };

/** The members that were sent of an input: null counts as left out. */
export const given = <Input extends object>(input: Input | null | undefined): Given<Input> =>
  Object.fromEntries(Object.entries(input ?? {}).filter(([, value]) => value != null)) as Given<Input>;
