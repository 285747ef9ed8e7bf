using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;
using Tunnel2.Client.Administration;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol;
using Tunnel2.Telemetry.Files;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.Inspecting;

/// <summary>Runs <c>tunnel2 inspect export</c>: writes what an inspector has kept to a HAR file.</summary>
internal static class InspectCommand
{
    private const int MaxSessions = 1024 * 1024;
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(60);

    /// <summary>Runs to the end of the file, or <paramref name="stop"/>.</summary>
    public static async Task<int> RunAsync(
        string[] args, Func<string, string?> environment, TextWriter output, TextWriter error, CancellationToken stop)
    {
        if (InspectOptions.Parse(args, environment, out string? mistake) is not { } options)
        {
            await error.WriteLineAsync($"tunnel2: {PlainText.Clean(mistake!)}");
            await error.WriteLineAsync(HelpText.UsageFor(CommandLineReader.Read(args)));
            return AgentExitCode.Usage;
        }

        using var limit = new CancellationTokenSource(_patience);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false, UseCookies = false })
        {
            BaseAddress = options.From,
            MaxResponseContentBufferSize = MaxSessions,
        };
        if (options.Token is { } token)
        {
            client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
        }

        try
        {
            return await ExportAsync(client, options, output, error, either.Token);
        }
        catch (HttpRequestException exception) when (exception.StatusCode is HttpStatusCode.Unauthorized or HttpStatusCode.Forbidden)
        {
            await error.WriteLineAsync(
                $"tunnel2: {options.From.Authority} refused: it wants its token (TUNNEL2_INSPECT_TOKEN; at a server's admin listener "
                    + "--from http://… and TUNNEL2_ADMIN_TOKEN), or another name");
            return AgentExitCode.Rejected;
        }
        catch (HttpRequestException exception) when (exception.StatusCode is HttpStatusCode.TooManyRequests)
        {
            await error.WriteLineAsync($"tunnel2: {options.From.Authority} refused: too many wrong tokens; try again in a minute");
            return AgentExitCode.Rejected;
        }
        catch (Exception exception) when (exception is HttpRequestException or OperationCanceledException or JsonException)
        {
            stop.ThrowIfCancellationRequested();
            string reason = exception switch
            {
                OperationCanceledException => "no answer in time",
                HttpRequestException failure => HttpFailure.Reason(failure),
                _ => PlainText.Clean(exception.Message),
            };
            await error.WriteLineAsync($"tunnel2: no inspector answers at {options.From.Authority}: {reason}");
            return AgentExitCode.ServerUnreachable;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            await error.WriteLineAsync($"tunnel2: {PlainText.Clean(exception.Message)}");
            return AgentExitCode.InternalError;
        }
    }

    private static async Task<int> ExportAsync(
        HttpClient client, InspectOptions options, TextWriter output, TextWriter error, CancellationToken cancellationToken)
    {
        string[] names = await ReadNamesAsync(client, cancellationToken);
        string? name = options.Name is { } wanted ? names.FirstOrDefault(one => one == wanted) : names is [var only] ? only : null;
        if (names.Length == 0)
        {
            await error.WriteLineAsync($"tunnel2: no tunnel is inspected at {options.From.Authority}");
            return AgentExitCode.Usage;
        }

        if (name is null)
        {
            await error.WriteLineAsync(
                $"tunnel2: --name has to be one of the tunnels that are inspected: {PlainText.Clean(string.Join(", ", names))}");
            return AgentExitCode.Usage;
        }

        string target = $"api/v1/sessions/{Uri.EscapeDataString(name)}/exchanges.har{(options.Reveals ? "?reveal=1" : "")}";
        using var response = await client.GetAsync(target, HttpCompletionOption.ResponseHeadersRead, cancellationToken);
        response.EnsureSuccessStatusCode();
        await using var body = await response.Content.ReadAsStreamAsync(cancellationToken);
        if (options.File == "-")
        {
            using var reader = new StreamReader(body);
            char[] buffer = new char[16 * 1024];
            while (await reader.ReadAsync(buffer, cancellationToken) is > 0 and var count)
            {
                await output.WriteAsync(buffer.AsMemory(0, count), cancellationToken);
            }

            await output.FlushAsync(cancellationToken);
            return AgentExitCode.Stopped;
        }

        await WriteAsync(body, options.File, cancellationToken);
        return AgentExitCode.Stopped;
    }

    /// <summary>Writes beside the file and moves: what was cut off never takes the place of a whole one.</summary>
    private static async Task WriteAsync(Stream body, string path, CancellationToken cancellationToken)
    {
        if (!OwnerOnlyFile.IsReplaceable(path))
        {
            await using var device = new FileStream(path, FileMode.Open, FileAccess.Write);
            await body.CopyToAsync(device, cancellationToken);
            return;
        }

        string beside = $"{path}.{Environment.ProcessId}.part";
        var form = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write, Options = FileOptions.Asynchronous };
        if (!OperatingSystem.IsWindows())
        {
            // Requests are private, masked or not.
            form.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        }

        FileStream file;
        try
        {
            file = new FileStream(beside, form);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The user knows the file by the name that it was to have.
            throw new IOException(exception.Message.Replace(beside, path, StringComparison.Ordinal), exception);
        }

        try
        {
            await using (file)
            {
                await body.CopyToAsync(file, cancellationToken);
            }

            File.Move(beside, path, overwrite: true);
        }
        catch
        {
            File.Delete(beside);
            throw;
        }
    }

    private static async Task<string[]> ReadNamesAsync(HttpClient client, CancellationToken cancellationToken)
    {
        using var response = await client.GetAsync("api/v1/sessions?inspected=true", cancellationToken);
        response.EnsureSuccessStatusCode();
        byte[] text = await response.Content.ReadAsByteArrayAsync(cancellationToken);
        using var json = JsonDocument.Parse(text);
        return json.RootElement.ValueKind == JsonValueKind.Object && json.RootElement.TryGetProperty("sessions", out var sessions)
            && sessions.ValueKind == JsonValueKind.Array
            ? [.. sessions.EnumerateArray().Select(static session => AdminClient.Text(session, "name") ?? throw NotOfInspector())]
            : throw NotOfInspector();
    }

    private static JsonException NotOfInspector() => new("The answer is not that of an inspector.");
}
