/**
 * Characters that turn the text after them around until their counterpart comes (Unicode Standard Annex 9). A name that lacks the
 * counterpart would turn what stands beside it; browsers order the letters of each script without them.
 */
const turns = /[\u202a-\u202e\u2066-\u2069]/g;

export const withoutTurns = (text: string): string => text.replace(turns, '');
