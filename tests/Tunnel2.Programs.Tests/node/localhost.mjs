// node --import ./localhost.mjs: names below localhost are this machine (RFC 6761 section 6.3), also where the system's resolver does not
// know that.
import dns from 'node:dns';

const systemLookup = dns.lookup;
dns.lookup = (name, options, callback) => {
  if (!name.endsWith('.localhost')) {
    return systemLookup(name, options, callback);
  }
  const done = callback ?? options;
  const all = typeof options === 'object' && options?.all;
  process.nextTick(() => (all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)));
};
