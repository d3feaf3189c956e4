/** The fields for how a booking repeats, with the series in words. */
import type { Refusal } from '../client.ts';
import { weekdayOf } from '../clock.ts';
import { Check, Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt } from '../parts/refused.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/rooms.ts';
import { type Choice, type Repeat, repeats, ruleOf, sayRule, weekdayName, weekdays } from './repeat.ts';

type RepeatFieldsProperties = {
  choice: Choice;
  /** How many bookings the series has; undefined if it ends before it begins. */
  count: number | undefined;
  refusal: Refusal | undefined;
  set: (changes: Partial<Choice>) => void;
};

export const RepeatFields: Component<RepeatFieldsProperties> = ({ choice, count, refusal, set }) => {
  const { repeat, on, day, until } = choice;
  const rule = ruleOf(choice);
  const ways = repeats.map((value) => ({ value, text: t().repeats[value] }));
  const checkWeekday = (weekday: number) => (checked: boolean) =>
    set({ on: checked ? [...on, weekday] : on.filter((other) => other !== weekday) });
  return html`
    <div class="fields">
      ${h(Field, { label: labels().recurrenceRule, value: repeat, onInput: (text) => set({ repeat: text as Repeat }), choices: ways, fault: faultAt(refusal, 'recurrenceRule'), about: JSON.stringify(choice) })}
      ${rule && h(Field, { label: t().until, type: 'date', value: until, min: day, onInput: (text) => set({ until: text }), required: true, fault: count === undefined ? t().endsBeforeStart : undefined })}
    </div>
    ${
      (repeat === 'weekly' || repeat === 'biweekly') &&
      html`<fieldset class="weekdays"><legend>${t().onWeekdays}</legend>
        ${weekdays.map((each) => h(Check, { key: each, label: weekdayName(each), checked: on.includes(each) || each === weekdayOf(day), disabled: each === weekdayOf(day), onChange: checkWeekday(each) }))}
      </fieldset>`
    }
    ${rule && count !== undefined && html`<p class="hint" role="status">${sayRule(rule)}: ${t().bookings(count)}</p>`}
  `;
};
