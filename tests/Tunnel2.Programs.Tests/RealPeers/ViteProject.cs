using Tunnel2.FunctionalTests.Processes;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>A page for Vite's development server, one of whose modules is replaced while it is shown.</summary>
internal static class ViteProject
{
    public static async Task WriteAsync(TemporaryFolder folder)
    {
        await File.WriteAllTextAsync(
            folder["index.html"],
            """
            <!doctype html><html><head><link rel="icon" href="data:,"></head>
            <body><p id="out"></p><script type="module" src="/main.js"></script></body></html>
            """,
            TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(
            folder["main.js"],
            """
            import { message } from './message.js';
            const out = document.querySelector('#out');
            out.textContent = message;
            import.meta.hot.accept('./message.js', (changed) => { out.textContent = changed.message; });
            """,
            TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(folder["message.js"], "export const message = 'first';\n", TestContext.Current.CancellationToken);
    }
}
