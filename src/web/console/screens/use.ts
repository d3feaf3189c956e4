/** Use: how much rooms are occupied, by room, by weekday and hour, and by week; and no-shows. */
import { addDays } from '../../../time/days.ts';
import { go, place } from '../address.ts';
import { ask } from '../client.ts';
import { dayAt, dayText, isDay, ownZone } from '../clock.ts';
import {
  LocationsDocument,
  UsageDocument,
  UsageHoursDocument,
  type UsageInput,
  UsageWeeksDocument,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { RefusedBox } from '../parts/refused.ts';
import { present } from '../present.ts';
import { t } from '../texts/use.ts';
import { cellsOfUse, figure, headOfUse } from '../use/figures.ts';
import { bars, dayName, heatMap, hourName } from '../use/pictures.ts';

const fourWeeks = 28;

function wishOf({ from, to, location, find }: Readonly<Record<string, string>>): UsageInput {
  const today = dayAt(ownZone, present());
  return {
    from: isDay(from) ? from : addDays(today, 1 - fourWeeks),
    to: isDay(to) ? to : today,
    ...(location && { locationId: location }),
    ...(find && { search: find }),
  };
}

async function readUse(input: UsageInput, stop: AbortSignal) {
  const [rooms, hours, weeks] = await Promise.all([
    ask(UsageDocument, { input }, stop),
    ask(UsageHoursDocument, { input }, stop),
    ask(UsageWeeksDocument, { input }, stop),
  ]);
  return {
    rooms: rooms.usage?.resources ?? [],
    hours: hours.usage?.hours ?? [],
    weeks: weeks.usage?.weeks ?? [],
  };
}

type Read = Awaited<ReturnType<typeof readUse>>;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function pictures({ rooms, hours, weeks }: Read, { from, to }: UsageInput) {
  const name = (what: string) => `${what}-${from}-${to}`;
  const open = sum(rooms.map(({ use }) => use.openMinutes));
  const occupied = sum(rooms.map(({ use }) => use.occupiedMinutes));
  const percent = open > 0 ? Math.round((occupied / open) * 100) : null;
  const most = Math.max(1, ...weeks.map(({ use }) => use.noShows));
  const severalPlaces = new Set(weeks.map(({ locationId }) => locationId)).size > 1;
  const weekName = ({ week, locationName }: Read['weeks'][number]) =>
    [dayText(week, 'short'), severalPlaces && locationName].filter(Boolean).join(', ');
  const weekRows = weeks.map((one) => [[one.week, one.locationName].join(', '), ...cellsOfUse(one.use)]);
  const weekHead = [t().week, ...headOfUse()];
  return html`
    <p><b>${t().total(t().percent(percent), sum(rooms.map(({ use }) => use.bookings)), sum(rooms.map(({ use }) => use.noShows)))}</b></p>
    ${figure({
      title: t().byHour,
      name: name('hours'),
      picture: heatMap(t().byHour, hours),
      head: [`${t().weekday}, ${t().hour}`, ...headOfUse()],
      rows: hours
        .filter(({ use }) => use.openMinutes + use.outsideMinutes > 0)
        .map(({ weekday, hour, use }) => [`${dayName(weekday)}, ${hourName(hour)}`, ...cellsOfUse(use)]),
    })}
    ${figure({
      title: t().byRoom,
      name: name('rooms'),
      picture: bars(
        t().byRoom,
        rooms.map(({ resourceName, use }) => ({
          name: resourceName,
          value: use.occupancyPercent ?? 0,
          text: t().percent(use.occupancyPercent),
        })),
        100,
      ),
      head: [t().room, ...headOfUse()],
      rows: rooms.map(({ resourceName, use }) => [resourceName, ...cellsOfUse(use)]),
    })}
    ${figure({
      title: t().byWeek,
      name: name('weeks'),
      picture: bars(
        t().byWeek,
        weeks.map((one) => ({
          name: weekName(one),
          value: one.use.occupancyPercent ?? 0,
          text: t().percent(one.use.occupancyPercent),
        })),
        100,
      ),
      head: weekHead,
      rows: weekRows,
    })}
    ${figure({
      title: t().noShowsByWeek,
      name: name('no-shows'),
      picture: bars(
        t().noShowsByWeek,
        weeks.map((one) => ({ name: weekName(one), value: one.use.noShows, text: String(one.use.noShows) })),
        most,
      ),
      head: weekHead,
      rows: weekRows,
    })}
  `;
}

export const Screen: Component<object> = () => {
  const wish = wishOf(place.value);
  const asked = useAsked((stop) => readUse(wish, stop), [JSON.stringify(wish)]);
  const locations = useAsked(async (stop) => (await ask(LocationsDocument, {}, stop)).locations ?? [], []);
  const put = (name: string) => (value: string) => go({ [name]: value }, 'replace');
  return html`
    <div class="page" aria-busy=${asked.isLoading}>
      <h1>${t().title}</h1>
      <div class="fields">
        ${h(Field, { label: t().from, type: 'date', value: wish.from, max: wish.to, onInput: put('from') })}
        ${h(Field, { label: t().to, type: 'date', value: wish.to, min: wish.from, onInput: put('to') })}
        ${h(Field, { label: t().location, value: place.value['location'] ?? '', onInput: put('location'), choices: [{ value: '', text: t().everywhere }, ...(locations.data ?? []).map(({ id, name }) => ({ value: id, text: name }))] })}
        ${h(Field, { label: t().find, type: 'search', value: place.value['find'] ?? '', onInput: put('find') })}
      </div>
      ${asked.data && h(RefusedBox, { refusal: asked.refusal })}
      ${showAsked(asked, (read) => pictures(read, wish), { when: ({ rooms }) => rooms.length === 0, text: t().none })}
    </div>
  `;
};
