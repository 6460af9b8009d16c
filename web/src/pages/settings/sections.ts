/** The sections of the settings, in their order. */
export const SECTIONS = ["keys", "members", "roles", "providers", "retention", "appearance"] as const;
export type SectionName = (typeof SECTIONS)[number];
