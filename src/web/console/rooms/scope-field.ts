/** Which bookings of a series an action is about. */
import type { Scope } from '../generated/graphql.ts';
import { Field } from '../parts/field.ts';
import { h } from '../parts/html.ts';
import { t } from '../texts/rooms.ts';

const scopes: readonly Scope[] = ['This', 'Following', 'All'];

export const scopeField = (value: Scope, onInput: (scope: Scope) => void) =>
  h(Field, {
    label: t().scope,
    value,
    onInput: (text) => onInput(text as Scope),
    choices: scopes.map((scope) => ({ value: scope, text: t().scopes[scope] })),
  });
