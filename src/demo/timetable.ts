/** The timetable of the demo tenant, as the body of a lesson import (contract 4.1). Pure. */
import type { TenantFile } from '../tenants/service.ts';
import { dateText, dayLength, minutesOf, mondayOf, readDate, weekOf } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { localDateOf, zoneFor } from '../time/zones.ts';

type DemoLesson = {
  LektionId: string;
  Beginn: string;
  Ende: string;
  RessourceName: string;
  Titel: string;
  Fach: string;
  Klassen: string[];
  Lehrpersonen: string[];
};

export type DemoJob = {
  JobID: string;
  Bezeichnung: string;
  Quelle: string;
  Standort: string;
  LektionList: DemoLesson[];
};

/** `when` lists weekdays (1 = Monday) with a letter of `times`, such as `1a 3a`; `+` joins several classes or teachers. */
type Course = readonly [klassen: string, fach: string, titel: string, raum: string, lehrpersonen: string, when: string];

type DemoPlan = {
  standort: string;
  /** Local clock times by the letter of the lesson; an end before its start is on the next day. */
  times: Readonly<Record<string, readonly [beginn: string, ende: string]>>;
  courses: readonly Course[];
};

const weeks = 4;

const plans: readonly DemoPlan[] = [
  {
    standort: 'Campus Zürich',
    times: {
      a: ['08:15', '09:45'],
      b: ['10:15', '11:45'],
      c: ['13:15', '14:45'],
      d: ['15:15', '16:45'],
      e: ['17:15', '18:45'],
      n: ['22:00', '00:30'],
    },
    courses: [
      ['INF-1A', 'Mathematik', 'Analysis I', 'HS 101', 'Dr. Lukas Frei', '1a 3a'],
      ['INF-1A', 'Informatik', 'Programmieren I', 'Rechnerlabor', 'Sophie Meier', '1b 4b'],
      ['INF-1A', 'Informatik', 'Digitaltechnik', 'HS 101', 'Marco Bianchi', '2a 4a'],
      ['INF-1A', 'Mathematik', 'Lineare Algebra', 'HS 101', 'Dr. Anna Roth', '2b 5a'],
      ['INF-1A', 'Englisch', 'English for Engineers', 'SR 201', 'James Walker', '3b 5b'],
      ['INF-1A', 'Sport', 'Klettern', 'Sporthalle', 'Nina Gerber', '3d'],
      ['INF-2A', 'Informatik', 'Datenbanken', 'Rechnerlabor', 'Sophie Meier', '2a 5a'],
      ['INF-2A', 'Informatik', 'Algorithmen', 'HS 102', 'Dr. Lukas Frei', '1b 4a'],
      ['INF-2A', 'Informatik', 'Netzwerke', 'HS 102', 'Marco Bianchi', '1c 3b'],
      ['INF-2A', 'Mathematik', 'Statistik', 'HS 102', 'Dr. Anna Roth', '3a 4b'],
      ['INF-2A', 'Englisch', 'Scientific Writing', 'SR 201', 'James Walker', '2c 4c'],
      ['INF-2A', 'Informatik', 'Übung Datenbanken', 'Rechnerlabor', 'Sophie Meier', '3e'],
      ['INF-1A+INF-2A', 'Informatik', 'Programmiernacht', 'Rechnerlabor', 'Sophie Meier+Marco Bianchi', '4n'],
      ['BIO-1A', 'Chemie', 'Allgemeine Chemie', 'Chemielabor', 'Dr. Martin Suter', '1a 3c'],
      ['BIO-1A', 'Chemie', 'Laborpraktikum', 'Chemielabor', 'Dr. Martin Suter', '2c 2d'],
      ['BIO-1A', 'Biologie', 'Zellbiologie', 'HS 102', 'Dr. Ruth Huber', '2a 5b'],
      ['BIO-1A', 'Biologie', 'Ökologie', 'SR 202', 'Dr. Ruth Huber', '4a 4b'],
      ['BIO-1A', 'Mathematik', 'Mathematik für Biologie', 'SR 202', 'Dr. Anna Roth', '1b 3b'],
      ['MUS-1A', 'Musik', 'Harmonielehre', 'Musikzimmer', 'Elena Bernasconi', '1a 3a'],
      ['MUS-1A', 'Musik', 'Gehörbildung', 'Musikzimmer', 'Jan Nowak', '2a 4b'],
      ['MUS-1A', 'Musik', 'Musikgeschichte', 'SR 203', 'Jan Nowak', '1b 5a'],
      ['MUS-1A', 'Musik', 'Ensemble', 'Musikzimmer', 'Elena Bernasconi', '3c 3d'],
      ['MUS-1A+WIR-1A', 'Musik', 'Chor', 'Aula', 'Elena Bernasconi', '1d 4e'],
      ['WIR-1A', 'Wirtschaft', 'Volkswirtschaftslehre', 'HS 101', 'Dr. Beat Vogt', '1b 3b'],
      ['WIR-1A', 'Wirtschaft', 'Rechnungswesen', 'SR 203', 'Dr. Beat Vogt', '2a 4a'],
      ['WIR-1A', 'Recht', 'Wirtschaftsrecht', 'SR 203', 'Claudia Ammann', '1a 4b'],
      ['WIR-1A', 'Mathematik', 'Statistik mit R', 'Rechnerlabor', 'Dr. Anna Roth', '2d 4d'],
      ['WIR-1A', 'Englisch', 'Business English', 'SR 201', 'James Walker', '1c 3c'],
      ['WIR-1A', 'Sport', 'Volleyball', 'Sporthalle', 'Nina Gerber', '2b'],
      ['WIR-1A', 'Wirtschaft', 'Start-up-Werkstatt', 'SR 202', 'Claudia Ammann', '6a 6b'],
      ['INF-1A+BIO-1A+MUS-1A', 'Studium generale', 'Ringvorlesung', 'Aula', 'Dr. Ruth Huber', '5c'],
    ],
  },
  {
    standort: 'Campus Lisboa',
    times: { a: ['09:00', '10:30'], b: ['11:00', '12:30'], c: ['14:00', '15:30'], d: ['16:00', '17:30'] },
    courses: [
      ['GES-1', 'Economia', 'Microeconomia', 'Auditório', 'Inês Duarte', '1a 3a'],
      ['GES-1', 'Gestão', 'Contabilidade', 'Sala 1.1', 'Tiago Carvalho', '1b 4a'],
      ['GES-1', 'Matemática', 'Estatística', 'Sala 1.1', 'Marta Ferreira', '2a 4b'],
      ['GES-1', 'Direito', 'Direito Comercial', 'Auditório', 'João Lopes', '2b 5a'],
      ['GES-1', 'Inglês', 'Inglês Comercial', 'Sala 1.2', 'Clara Almeida', '3b 5b'],
      ['DES-1', 'Design', 'Desenho', 'Atelier', 'Rui Santos', '1a 1b 3a'],
      ['DES-1', 'Design', 'Tipografia', 'Atelier', 'Rui Santos', '2a 2b'],
      ['DES-1', 'Design', 'Fotografia', 'Atelier', 'Sara Moreira', '4b 4c'],
      ['DES-1', 'História', 'História da Arte', 'Auditório', 'João Lopes', '1c 4a'],
      ['DES-1', 'Inglês', 'Inglês', 'Sala 1.2', 'Clara Almeida', '3c 5a'],
      ['DES-1', 'Design', 'Projeto', 'Atelier', 'Rui Santos+Sara Moreira', '5b 5c'],
    ],
  },
];

/**
 * Makes the lessons of the week of `today` and of the next three weeks, one job per week and class. Dates with an opening
 * exception have no lessons. A JobID names the ISO week and the class, such as `demo-2026-W47-INF-1A`.
 */
export function demoTimetable(today: Date, tenant: TenantFile): DemoJob[] {
  return plans.flatMap((plan) => {
    const location = tenant.Locations.find(({ Name }) => Name === plan.standort);
    if (!location) return [];
    const { TimeZone: timeZone = 'UTC', OpeningExceptions: exceptions = [] } = location;
    const monday = mondayOf(readDate(localDateOf(today, timeZone)));
    return Array.from({ length: weeks }, (_, week) =>
      listJobs(plan, { timeZone, exceptions }, monday + 7 * week),
    ).flat();
  });
}

function listJobs(
  { standort, times, courses }: DemoPlan,
  { timeZone, exceptions }: { timeZone: string; exceptions: readonly { FromDate: string; ToDate: string }[] },
  monday: number,
): DemoJob[] {
  const ofYear = weekOf(monday, 1);
  const week = `${ofYear.year}-W${String(ofYear.week).padStart(2, '0')}`;
  const zone = zoneFor(timeZone);
  const jobs = new Map<string, DemoJob>();
  const isRegular = (date: string) => !exceptions.some(({ FromDate, ToDate }) => FromDate <= date && date <= ToDate);

  for (const [classes, fach, titel, raum, lehrpersonen, when] of courses) {
    const klassen = classes.split('+');
    const klasse = klassen[0]!;
    for (const at of when.split(' ')) {
      const [weekday = '', letter = ''] = at;
      const [beginn, ende] = times[letter]!;
      const day = monday + Number(weekday) - 1;
      const lastDay = ende < beginn ? day + 1 : day;
      if (!isRegular(dateText(day)) || !isRegular(dateText(lastDay))) continue;
      const utc = (day: number, clock: string) =>
        new Date(zone.instantOf(day * dayLength + minutesOf(clock) * minute)).toISOString().replace('.000Z', 'Z');
      const jobId = `demo-${week}-${klasse}`;
      const job = jobs.get(jobId) ?? {
        JobID: jobId,
        Bezeichnung: `Stundenplan ${klasse}, ${week}`,
        Quelle: 'Demo',
        Standort: standort,
        LektionList: [],
      };
      jobs.set(jobId, job);
      job.LektionList.push({
        LektionId: `${week}-${klasse}-${at}`,
        Beginn: utc(day, beginn),
        Ende: utc(lastDay, ende),
        RessourceName: raum,
        Titel: titel,
        Fach: fach,
        Klassen: klassen,
        Lehrpersonen: lehrpersonen.split('+'),
      });
    }
  }
  return [...jobs.values()];
}
