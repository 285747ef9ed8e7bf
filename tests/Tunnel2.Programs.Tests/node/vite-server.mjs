// Vite's development server with the project of a folder: node vite-server.mjs FOLDER PORT. Listens where it does by default, which on many
// machines is ::1 alone. Prints "listening PORT" and "address ADDRESS".
import { createServer } from 'vite';

const [, , root, port] = process.argv;
const server = await createServer({
  root, configFile: false, cacheDir: `${root}/.vite`, logLevel: 'warn', clearScreen: false, server: { port: Number(port), strictPort: true },
});
await server.listen();
console.log(`address ${server.httpServer.address().address}`);
console.log(`listening ${port}`);
