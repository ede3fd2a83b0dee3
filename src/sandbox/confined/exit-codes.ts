/** The exit code of a child that could not confine itself, and started nothing. */
export const NOT_CONFINED = 125;
