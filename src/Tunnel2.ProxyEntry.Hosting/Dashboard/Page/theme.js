// Before the first paint, so that a chosen theme does not flash.
try {
  const theme = localStorage.getItem('tunnel2-theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
} catch { /* Storage is off: the system's choice stays. */ }
