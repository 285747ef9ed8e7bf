// Runs named checks one after another, prints "ok NAME" or "FAILED NAME: why" for each; the exit code is the number of failures.
const checks = [];

/** Registers a check: an async function that throws when something is wrong. */
export function check(name, run) {
  checks.push({ name, run });
}

/** Runs all checks, each within a limit, and ends the process. */
export async function runChecks(limitInSeconds = 30) {
  let failures = 0;
  for (const { name, run } of checks) {
    let timer;
    const limit = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${limitInSeconds} s`)), limitInSeconds * 1000);
    });
    try {
      await Promise.race([run(), limit]);
      console.log(`ok ${name}`);
    } catch (error) {
      failures++;
      console.log(`FAILED ${name}: ${error?.message ?? error}`);
    } finally {
      clearTimeout(timer);
    }
  }

  process.exit(failures);
}
