// Keeps the theme that a person chose; without one the system's counts.

const themeName = "parley.theme";
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export function readTheme(storage: Storage): Theme {
  const kept = storage.getItem(themeName);
  return themes.find((theme) => theme === kept) ?? "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function keepTheme(storage: Storage, theme: Theme): void {
  storage.setItem(themeName, theme);
  applyTheme(theme);
}
