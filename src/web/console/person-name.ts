/** Names of persons as people read them. */
import { erasedName } from '../../names.ts';
import { texts } from './look.ts';

const t = texts(
  { erased: (number: string) => `Gelöschte Person ${number}` },
  { erased: (number: string) => `Erased person ${number}` },
);

/** The API has the same English in place of each name that was erased. @param id of the graph; its number distinguishes them */
export const personName = (name: string, id = ''): string =>
  name === erasedName ? t().erased(id.replace(/\D/g, '')).trim() : name;
