import { expect, test } from '@jest/globals';
import { asDomainError } from '../../src/flow/database-errors.ts';

test.each([
  ['53100', 'The database takes no writes at the moment; send the same request again.'],
  ['25006', 'The database takes no writes at the moment; send the same request again.'],
  ['08006', 'The database does not answer at the moment; send the same request again.'],
])('a client is told of SQLSTATE %s: %s', (code, message) => {
  expect(asDomainError(Object.assign(new Error('no'), { code }))).toMatchObject({ code: 'Unavailable', message });
});
