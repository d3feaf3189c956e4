/** The tenant: its name, its parameters, and how its signs and boards look. */
import { longest } from '../../../names.ts';
import { act, ask } from '../client.ts';
import {
  type CalendarEdits,
  type CalendarWriting,
  ChangeSchoolDocument,
  SchoolDocument,
  type SchoolFragment,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Check, Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt, RefusedBox } from '../parts/refused.ts';
import { StaleBox } from '../parts/stale.ts';
import { person } from '../session.ts';
import { t } from '../texts/master.ts';
import { labelOf, labels } from '../texts/members.ts';
import { type CalendarRule, choicesOfRule } from './data.ts';
import { type Look, LookFields } from './look.ts';
import { useRecord } from './record.ts';

type Values = {
  name: string;
  usersMayImport: boolean;
  calendarWriting: CalendarWriting;
  calendarEdits: CalendarEdits;
  declineConflicts: boolean;
} & Look;
const readSchool = async () => (await ask(SchoolDocument, {})).tenant;

const Form: Component<{ school: SchoolFragment; onSaved: () => void }> = ({ school, onSaved }) => {
  const { values, set, refusal, stale, isBusy, save } = useRecord<Values, SchoolFragment>({
    record: school,
    subject: 'Tenant',
    valuesOf: (read) => ({
      name: read?.name ?? '',
      usersMayImport: read?.parameters.usersMayImport ?? false,
      calendarWriting: read?.parameters.calendarWriting ?? 'Off',
      calendarEdits: read?.parameters.calendarEdits ?? 'PutBack',
      declineConflicts: read?.parameters.declineConflicts ?? false,
      colour: read?.colour ?? '',
      logo: read?.logo ?? '',
    }),
    read: readSchool,
    // The tenant always exists, so this is never used to create one.
    create: () => act(ChangeSchoolDocument, { version: school.version, input: {} }),
    change: ({ version }, { name, colour, logo, ...parameters }) =>
      act(ChangeSchoolDocument, {
        version,
        input: {
          ...(name !== undefined && { name }),
          ...(colour !== undefined && { colour: colour || null }),
          ...(logo !== undefined && { logo: logo || null }),
          ...(Object.keys(parameters).length > 0 && { parameters }),
        },
      }),
    onSaved(read) {
      if (person.value) person.value = { ...person.value, tenantName: read.name };
      onSaved();
    },
  });
  const rule = (member: Exclude<CalendarRule, 'declineConflicts'>) =>
    h(Field, {
      label: labelOf(member) ?? member,
      hint: t().ruleHints[member],
      value: values[member],
      choices: choicesOfRule(member),
      onInput: (value) => set({ [member]: value }),
    });
  return html`
    <form class="panel" onSubmit=${submit(save)}>
      ${stale && h(StaleBox, { stale })}
      ${h(Field, { label: labels().name, value: values.name, onInput: (name) => set({ name }), required: true, maxLength: longest.name, fault: faultAt(refusal, 'name') })}
      ${h(Check, { label: t().usersMayImport, checked: values.usersMayImport, onChange: (usersMayImport) => set({ usersMayImport }) })}
      <div class="fields">${rule('calendarWriting')}${rule('calendarEdits')}</div>
      ${h(Check, { label: t().declineConflicts, checked: values.declineConflicts, onChange: (declineConflicts) => set({ declineConflicts }) })}
      <p>${school.parameters.pinAuthenticationAllowed ? t().pinsCount : t().pinsDoNot}</p>
      ${h(LookFields, { colour: values.colour, logo: values.logo, refusal, onChange: set })}
      ${h(RefusedBox, { refusal, fields: ['name', 'colour', 'logo'] })}
      <div class="buttons end"><button class="main" disabled=${isBusy}>${t().save}</button></div>
    </form>
  `;
};

export const Screen: Component<object> = () => {
  const asked = useAsked(readSchool, []);
  return html`<div>${showAsked(asked, (school) => h(Form, { key: school.version, school, onSaved: asked.reload }))}</div>`;
};
