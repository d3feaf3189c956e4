/** How long a booking at a display may be. The pages of the signs run this same file, so that none offers what is refused. */
export const shortestMinutes = 5;
export const longestMinutes = 240;
