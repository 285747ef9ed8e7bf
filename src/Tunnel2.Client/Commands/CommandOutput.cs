using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Commands;

/// <summary>How commands write what they have found.</summary>
internal static class CommandOutput
{
    private static readonly JsonWriterOptions _form = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>Writes a text, which ends with a line break.</summary>
    public static async Task<int> WriteAsync(this CommandConsole console, string text, int exitCode = AgentExitCode.Stopped)
    {
        await console.Output.WriteAsync(text);
        await console.Output.FlushAsync(CancellationToken.None);
        return exitCode;
    }

    /// <summary>Writes one object of JSON in a line.</summary>
    public static Task<int> WriteJsonAsync(this CommandConsole console, Action<Utf8JsonWriter> write, int exitCode = AgentExitCode.Stopped)
    {
        using var text = new MemoryStream();
        using (var json = new Utf8JsonWriter(text, _form))
        {
            json.WriteStartObject();
            write(json);
            json.WriteEndObject();
        }

        string line = Encoding.UTF8.GetString(text.GetBuffer().AsSpan(0, (int)text.Length));
        return console.WriteAsync(PlainText.Clean(line, int.MaxValue) + "\n", exitCode);
    }

    /// <summary>Reports on the error output what is wrong with the command line, and its usage.</summary>
    public static async Task<int> MistakeAsync(this CommandConsole console, string mistake)
    {
        await console.Error.WriteLineAsync($"tunnel2: {PlainText.Clean(mistake)}");
        await console.Error.WriteLineAsync(HelpText.UsageFor(console.Line));
        return AgentExitCode.Usage;
    }

    /// <summary>Reports on the error output why a command has failed.</summary>
    public static async Task<int> FailAsync(this CommandConsole console, string message, int exitCode)
    {
        await console.Error.WriteLineAsync($"tunnel2: {PlainText.Clean(message, 2 * PlainText.MaxLength)}");
        return exitCode;
    }
}
