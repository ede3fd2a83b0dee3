/** Whether a link of a text leads to a web or mail address, with its scheme written out. */
export const isSafeLink = (address: string): boolean => /^(?:https?:\/\/[^\s/]|mailto:[^\s])/i.test(address);
