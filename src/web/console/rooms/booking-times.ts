/** The fields for the times of a booking, which are those of the room's zone. */
import { addDays, minutesOf } from '../../../time/days.ts';
import type { Refusal } from '../client.ts';
import { clockText, daysBetween, isDay, minutesAt, offsetAt, ownZone, rangeIn, timeText } from '../clock.ts';
import { Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt } from '../parts/refused.ts';
import { t } from '../texts/rooms.ts';
import type { Wanted } from './draft.ts';
import { toMinute } from './store.ts';

type BookingTimesProperties = {
  wanted: Pick<Wanted, 'roomId' | 'day' | 'lastDay' | 'from' | 'to' | 'block' | 'scope'>;
  timeZone: string;
  start: number;
  end: number;
  refusal: Refusal | undefined;
  set: (changes: Partial<Wanted>) => void;
};

/** The step in seconds: five minutes if the time is a multiple of these, as browsers refuse values between steps. */
const stepOf = (text: string) => (minutesOf(text) % 5 === 0 ? 300 : 60);

export const BookingTimes: Component<BookingTimesProperties> = ({ wanted, timeZone, start, end, refusal, set }) => {
  const about = JSON.stringify(wanted);
  const { day, lastDay, from, to, block, scope } = wanted;
  const isBackwards = end <= start;
  const isFixed = scope !== 'This';
  const isElsewhere = offsetAt(timeZone, start) !== offsetAt(ownZone, start);
  const isTwofold = [start, end].some((at) => timeText(timeZone, at) !== clockText(minutesAt(timeZone, at)));
  const setDay = (text: string) => isDay(text) && set({ day: text, lastDay: addDays(text, daysBetween(day, lastDay)) });
  const setLastDay = (text: string) => isDay(text) && set({ lastDay: text });
  return html`
    <div class="fields">
      ${h(Field, { label: t().date, type: 'date', value: day, onInput: setDay, required: true, disabled: isFixed, hint: isFixed ? t().datesStay : undefined })}
      ${(block || lastDay !== day || isBackwards) && h(Field, { label: t().lastDay, type: 'date', value: lastDay, min: day, onInput: setLastDay, required: true, disabled: isFixed })}
      ${h(Field, { label: t().from, type: 'time', value: from, onInput: (text) => set({ from: text }), required: true, step: stepOf(from), fault: faultAt(refusal, 'start', timeZone), about })}
      ${h(Field, { label: t().to, type: 'time', value: to, onInput: (text) => set({ to: text }), required: true, step: stepOf(to), fault: isBackwards ? t().endsTooEarly : faultAt(refusal, 'end'), about })}
    </div>
    ${isElsewhere && !isBackwards && html`<p class="hint">${t().yourTime(rangeIn(ownZone, toMinute(start), toMinute(end)))}</p>`}
    ${isTwofold && !isBackwards && html`<p class="hint">${rangeIn(timeZone, toMinute(start), toMinute(end))}</p>`}
  `;
};
