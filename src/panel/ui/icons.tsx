import type { ReactNode } from 'react';

/** Line icons, 20 px, drawn for this panel. They are decorative: a text always says the same. */
function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      viewBox="0 0 20 20"
      width="20"
      height="20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const IconGlobe = () => (
  <Icon>
    <circle cx="10" cy="10" r="7.2" />
    <path d="M2.8 10h14.4M10 2.8c2.2 2 3.2 4.5 3.2 7.2s-1 5.2-3.2 7.2c-2.2-2-3.2-4.5-3.2-7.2s1-5.2 3.2-7.2Z" />
  </Icon>
);

export const IconContrast = () => (
  <Icon>
    <circle cx="10" cy="10" r="7.2" />
    <path d="M10 2.8a7.2 7.2 0 0 1 0 14.4Z" fill="currentColor" />
  </Icon>
);

export const IconCheck = () => (
  <Icon>
    <path d="m4.5 10.5 3.6 3.6 7.4-8.2" />
  </Icon>
);

export const IconCopy = () => (
  <Icon>
    <rect x="7" y="7" width="9.5" height="9.5" rx="2" />
    <path d="M13 7V5.5a2 2 0 0 0-2-2H5.5a2 2 0 0 0-2 2V11a2 2 0 0 0 2 2H7" />
  </Icon>
);

export const IconAlert = () => (
  <Icon>
    <circle cx="10" cy="10" r="7.2" />
    <path d="M10 6.2v4.4M10 13.7v.1" />
  </Icon>
);

export const IconSearch = () => (
  <Icon>
    <circle cx="9" cy="9" r="5.6" />
    <path d="m13.2 13.2 3.6 3.6" />
  </Icon>
);

export const IconBell = () => (
  <Icon>
    <path d="M5 13.4V9a5 5 0 0 1 10 0v4.4l1.2 1.4H3.8ZM8.4 16.8h3.2" />
  </Icon>
);
