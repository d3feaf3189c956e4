import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readDemoTenant } from '../../src/demo/service.ts';
import { demoTimetable } from '../../src/demo/timetable.ts';
import { type Hours, openIntervals } from '../../src/opening-hours/local-hours.ts';

const tenant = readDemoTenant();
const resources = tenant.Locations.flatMap((location) =>
  location.Resources.map((resource) => ({ location, resource })),
);

/** The lessons of a timetable, with their jobs. */
const lessonsOf = (today: Date) =>
  demoTimetable(today, tenant).flatMap((job) => job.LektionList.map((lesson) => ({ ...lesson, job })));

type Lesson = ReturnType<typeof lessonsOf>[number];

function findResource({ RessourceName, job }: Lesson) {
  return resources.find(({ location, resource }) => resource.Name === RessourceName && location.Name === job.Standort);
}

/** Pairs of lessons that share a key and overlap. */
function overlaps(lessons: Lesson[], keysOf: (lesson: Lesson) => string[]): string[] {
  const found: string[] = [];
  const keyed = lessons.flatMap((lesson) => keysOf(lesson).map((key) => ({ key, lesson })));
  for (const [key, group] of Map.groupBy(keyed, (entry) => entry.key)) {
    const ordered = group.map(({ lesson }) => lesson).sort((one, other) => (one.Beginn < other.Beginn ? -1 : 1));
    for (const [index, lesson] of ordered.slice(1).entries())
      if (lesson.Beginn < ordered[index]!.Ende) found.push(`${key}: ${ordered[index]!.LektionId}, ${lesson.LektionId}`);
  }
  return found;
}

function hoursOf({ location, resource }: (typeof resources)[number]): Hours {
  const rules = resource.OpeningRules ?? location.OpeningRules ?? [];
  return {
    rules: rules.map(({ Weekdays, Opens, Closes, ValidFrom, ValidTo }) => ({
      weekdays: Weekdays,
      opens: Opens,
      closes: Closes,
      validFrom: ValidFrom,
      validTo: ValidTo,
    })),
    exceptions: (location.OpeningExceptions ?? []).map(({ FromDate, ToDate, Closed, Periods }) => ({
      fromDate: FromDate,
      toDate: ToDate,
      closed: Closed,
      periods: Periods.map(({ Opens, Closes }) => ({ opens: Opens, closes: Closes })),
    })),
  };
}

const addDays = (date: string, days: number) => new Date(Date.parse(date) + days * 864e5).toISOString().slice(0, 10);

test('the demo tenant is a lively one', () => {
  expect(resources.length).toBeGreaterThanOrEqual(12);
  expect(new Set(tenant.Locations.map(({ TimeZone }) => TimeZone)).size).toBe(2);
  const roles = Map.groupBy(tenant.Persons, ({ Role }) => Role);
  expect([...roles.keys()].sort()).toEqual(['Admin', 'Importer', 'User']);
  expect(roles.get('User')!.length).toBeGreaterThan(3);
  expect(tenant.Parameters.PinAuthenticationAllowed).toBe(true);
});

describe('the timetable of any day from 2026 to 2028', () => {
  const days = fc.date({ min: new Date('2026-01-01'), max: new Date('2028-12-31'), noInvalidDate: true });
  const forAnyDay = (check: (lessons: Lesson[], today: Date) => void) =>
    fc.assert(
      fc.property(days, (today) => check(lessonsOf(today), today)),
      {
        numRuns: 25,
        examples: [
          [new Date('2026-12-22')],
          [new Date('2027-03-22')],
          [new Date('2026-12-31')],
          [new Date('2028-10-15T22:00:00Z')],
        ],
      },
    );

  test('has 150 to 400 lessons in rooms of the tenant, each with its members', () => {
    forAnyDay((lessons) => {
      expect(lessons.length).toBeGreaterThanOrEqual(150);
      expect(lessons.length).toBeLessThanOrEqual(400);
      const faulty = lessons.filter(
        (lesson) =>
          !findResource(lesson) ||
          lesson.Ende <= lesson.Beginn ||
          ![lesson.Beginn, lesson.Ende].every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/.test(time)) ||
          ![lesson.Titel, lesson.Fach, ...lesson.Klassen, ...lesson.Lehrpersonen].every((text) => text.trim()),
      );
      expect(faulty).toEqual([]);
    });
  });

  test('is free of overlaps, of rooms, classes and teachers', () => {
    forAnyDay((lessons) => {
      expect(overlaps(lessons, ({ job, RessourceName }) => [`${job.Standort}/${RessourceName}`])).toEqual([]);
      expect(overlaps(lessons, ({ Klassen }) => Klassen)).toEqual([]);
      expect(overlaps(lessons, ({ Lehrpersonen }) => Lehrpersonen)).toEqual([]);
    });
  });

  test('lies within the opening hours of its rooms', () => {
    forAnyDay((lessons) => {
      for (const [room, group] of Map.groupBy(lessons, findResource)) {
        const dates = group.map(({ Beginn }) => Beginn.slice(0, 10)).sort();
        const open = openIntervals(
          ...([hoursOf(room!), room!.location.TimeZone!, addDays(dates[0]!, -2), addDays(dates.at(-1)!, 1)] as const),
        );
        const outside = group.filter(
          ({ Beginn, Ende }) => !open.some(({ start, end }) => start <= new Date(Beginn) && end >= new Date(Ende)),
        );
        expect(outside.map(({ LektionId }) => LektionId)).toEqual([]);
      }
    });
  });

  test('covers this week and the three that follow', () => {
    forAnyDay((lessons, today) => {
      const date = today.toISOString().slice(0, 10);
      const monday = addDays(date, -((today.getUTCDay() + 6) % 7));
      // The date in Zurich may already be that of the next week.
      const outside = lessons.filter(({ Beginn }) => Beginn < monday || Beginn >= addDays(monday, 35));
      expect(outside).toEqual([]);
    });
  });

  test('has unique ids that name the ISO week, so that other weeks have other ones', () => {
    forAnyDay((lessons, today) => {
      const jobs = demoTimetable(today, tenant);
      expect(new Set(jobs.map(({ JobID }) => JobID)).size).toBe(jobs.length);
      expect(jobs.filter(({ LektionList }) => LektionList.length === 0)).toEqual([]);
      expect(new Set(lessons.map(({ LektionId }) => LektionId)).size).toBe(lessons.length);
      // A day more than four weeks: clocks may be put back meanwhile.
      const later = demoTimetable(new Date(today.getTime() + 29 * 864e5), tenant);
      const known = new Set(jobs.map(({ JobID }) => JobID));
      expect(later.filter(({ JobID }) => known.has(JobID))).toEqual([]);
    });
  });
});

test('local clock times of each location become UTC, summer and winter', () => {
  const beginOf = (today: string, lesson: string) =>
    lessonsOf(new Date(today)).find(({ LektionId }) => LektionId.endsWith(lesson))?.Beginn;
  expect(beginOf('2026-11-20', 'INF-1A-1a')).toBe('2026-11-16T07:15:00Z');
  expect(beginOf('2026-07-01', 'INF-1A-1a')).toBe('2026-06-29T06:15:00Z');
  expect(beginOf('2026-11-20', 'GES-1-1a')).toBe('2026-11-16T09:00:00Z');
});

test('a job is in the wire format of an import', () => {
  const [job] = demoTimetable(new Date('2026-11-20T12:00Z'), tenant);
  expect(job).toMatchObject({
    JobID: 'demo-2026-W47-INF-1A',
    Bezeichnung: 'Stundenplan INF-1A, 2026-W47',
    Quelle: 'Demo',
    Standort: 'Campus Zürich',
  });
  expect(job!.LektionList[0]).toEqual({
    LektionId: '2026-W47-INF-1A-1a',
    Beginn: '2026-11-16T07:15:00Z',
    Ende: '2026-11-16T08:45:00Z',
    RessourceName: 'HS 101',
    Titel: 'Analysis I',
    Fach: 'Mathematik',
    Klassen: ['INF-1A'],
    Lehrpersonen: ['Dr. Lukas Frei'],
  });
});

test('nothing is taught on a date with an opening exception, nor in the night before', () => {
  const lessons = lessonsOf(new Date('2027-12-20'));
  const zurich = lessons.filter(({ job }) => job.Standort === 'Campus Zürich');
  expect(zurich.filter(({ Ende }) => Ende > '2027-12-23T23:00' && Ende < '2028-01-03')).toEqual([]);
  expect(lessons.some(({ Beginn }) => Beginn.startsWith('2027-12-27'))).toBe(true);
});
