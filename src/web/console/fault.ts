import { takenValue } from '../../names.ts';

/** One fault of what was sent. */
export type Fault = {
  field: string | null;
  pointer: string | null;
  code: string;
  message: string;
  /** Line and column in a file that was sent. */
  line?: number | null;
  column?: number | null;
  limit?: Figures | null;
};

const takenFaults: Readonly<Record<string, Pick<Fault, 'field' | 'code'>>> = {
  name: { field: 'name', code: 'NameTaken' },
  'e-mail address': { field: 'email', code: 'EmailTaken' },
  teachercode: { field: 'teacherCode', code: 'TeacherCodeTaken' },
};

/** The fault of a value that another record has. GraphQL's conflicts list no faults: only their message tells it. */
export function faultsOfConflict(message: string): Fault[] {
  const { retired, what = '' } = takenValue.exec(message)?.groups ?? {};
  const found = takenFaults[what.toLowerCase()];
  return found ? [{ ...found, ...(retired && { code: 'NameOfRetired' }), pointer: null, message }] : [];
}

/** What a limit allows. */
type Figures = {
  [Name in 'minutes' | 'days' | 'bookings']?: number | null;
} & { [Name in 'policy' | 'start' | 'earliest' | 'bookableFrom' | 'week' | 'nextWeek']?: string | null };
