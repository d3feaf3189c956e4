import type { Viewer } from '../context.ts';
import type { AddTypes } from '../graphql/builder.ts';

const roles = ['Admin', 'User', 'Display'] as const satisfies readonly Viewer['role'][];

export const addTypes: AddTypes = (builder) => {
  const role = builder.enumType('Role', {
    description: 'What a person may do (contract 3).',
    values: roles,
  });
  const person = builder.objectRef<Viewer>('Person').implement({
    description: 'A user of a tenant.',
    fields: (t) => ({
      id: t.exposeID('personId', { description: 'The same id as in REST.' }),
      name: t.exposeString('displayName', { description: 'As it is shown.' }),
      email: t.exposeString('email', { description: 'Unique in the tenant.' }),
      timeZone: t.exposeString('timeZone', { description: 'IANA name of the zone of this person.' }),
      role: t.field({
        type: role,
        description: 'What this person may do.',
        resolve: (viewer) => viewer.role,
      }),
    }),
  });
  builder.queryField('me', (t) =>
    t.field({
      type: person,
      description: 'The person whose credential this call carries.',
      resolve: (_root, _args, { viewer }) => viewer,
    }),
  );
};
