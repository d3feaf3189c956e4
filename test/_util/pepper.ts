export const pepper = 'the pepper of the tests, which is long enough';
