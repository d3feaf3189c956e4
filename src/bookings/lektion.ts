/** The lesson of a booking, in the terms of lesson jobs (contract 4.1). */
import { sql } from 'kysely';
import { z } from 'zod';
import { instant, maybeText, text } from '../fields.ts';
import { lessonLimits } from '../names.ts';

export const mostNames = 1_000;
export const longestLesson = sql`interval '24 hours'`;

const maybeNames = (description: string) =>
  z.array(z.string().max(lessonLimits.name)).max(mostNames).nullable().meta({ description });

export const lessonStatus = z.enum(['Geplant', 'Vertretung', 'Entfaellt']).meta({
  id: 'LessonStatus',
  description: 'Whether a lesson takes place as planned, is taught by a substitute, or is cancelled.',
});

/** A lesson before its first change, as stored; instants are RFC 3339 texts. */
export type LessonOrigin = {
  RessourceName: string;
  Lehrpersonen: string[] | null;
  Fach: string | null;
  Beginn: string;
  Ende: string;
};

export type Lektion = {
  fach: string | null;
  klassen: string[] | null;
  lehrpersonen: string[] | null;
  status: string;
  ursprung: LessonOrigin | null;
};

export const lessonOrigin = z
  .object({
    RessourceName: text(lessonLimits.name, 'The name of its room.'),
    Lehrpersonen: maybeNames('Its teachers.'),
    Fach: maybeText(lessonLimits.text, 'Its subject.'),
    Beginn: instant('Its start.'),
    Ende: instant('Its end.'),
  })
  .meta({ id: 'LessonOrigin', description: 'A lesson before its first change.' });

export const lektion = z
  .object({
    Fach: maybeText(lessonLimits.text, 'Its subject; of coupled lessons, that of the first.'),
    Klassen: maybeNames('Its classes; of coupled lessons, the classes of all.'),
    Lehrpersonen: maybeNames('Its teachers; of coupled lessons, the teachers of all.'),
    Status: lessonStatus.meta({
      description: 'Whether it takes place as planned; of coupled lessons, that of the first.',
    }),
    Ursprung: lessonOrigin.nullable().meta({
      description:
        'The planned values; null if the lesson has not been changed; of coupled lessons, those of the first.',
    }),
  })
  .meta({ id: 'Lektion', description: 'The lesson of a booking.' });

export function toLessonOrigin({ Beginn, Ende, ...others }: LessonOrigin) {
  return { ...others, Beginn: new Date(Beginn), Ende: new Date(Ende) };
}

export function toLektion({ fach, klassen, lehrpersonen, status, ursprung }: Lektion) {
  return {
    Fach: fach,
    Klassen: klassen,
    Lehrpersonen: lehrpersonen,
    Status: status,
    Ursprung: ursprung && toLessonOrigin(ursprung),
  };
}
