using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Logins;
using Tunnel2.Client.Variables;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Commands;

/// <summary>
/// <c>tunnel2 login</c>: opens a session with a random name, to see that server, trust and token are right, and stores them. The token is
/// sent only after the certificate was accepted.
/// </summary>
internal static class LoginCommand
{
    private const string Stopped = "stopped; nothing is stored";

    /// <summary>Runs to the end.</summary>
    public static async Task<int> RunAsync(CommandConsole console, CancellationToken stop)
    {
        try
        {
            return await LogInAsync(console, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // It waited for a person, in the line of its question.
            await console.Error.WriteLineAsync();
            return await console.FailAsync(Stopped, AgentExitCode.InternalError);
        }
    }

    private static async Task<int> LogInAsync(CommandConsole console, CancellationToken stop)
    {
        if (console.Line.Argument is not { Length: > 0 } server)
        {
            return await console.MistakeAsync("say which server, as in 'tunnel2 login tunnel.example.com'");
        }

        if (StoredLogin.PathFor(console.Environment) is not { } path)
        {
            return await console.FailAsync(
                "there is no place for the login: HOME and XDG_CONFIG_HOME are not set", AgentExitCode.InternalError);
        }

        CommandSpec command = console.Line.Command!;
        string? fingerprint = console.Line["--trust-fingerprint"];
        string? token = console.Line["--token"];
        while (true)
        {
            AgentOptionsInput input = EnvironmentFallback.Apply(
                new AgentOptionsInput()
                    .Give("<upstream>", "1")
                    .Give("--server", server, "SERVER")
                    .Give("--server-fingerprint", fingerprint, "--trust-fingerprint")
                    .Give("--server-ca", console.Line["--server-ca"] is { } ca ? Path.GetFullPath(ca) : null)
                    .Give("--token", token),
                console.Environment,
                isOneTunnel: false);
            AgentOptionsParseResult parsed = AgentOptionsParser.Parse(input);
            if (parsed.Options is not { } options)
            {
                return await console.MistakeAsync(OptionWords.Of(
                    command, string.Join("; ", parsed.Mistakes)));
            }

            ConnectionEnd? end;
            try
            {
                (end, _) = await ServerTrial.RunAsync(console, options, stop);
            }
            catch (IOException exception)
            {
                return await console.FailAsync(OptionWords.Of(command, exception.Message), AgentExitCode.InternalError);
            }

            if (stop.IsCancellationRequested)
            {
                return await console.FailAsync(Stopped, AgentExitCode.InternalError);
            }

            // A server looks at the token before the name.
            if (end is null
                or { Rejection.Reason: RejectionReason.NameNotAllowed or RejectionReason.NameTaken or RejectionReason.NameKept })
            {
                var login = new StoredLogin(path, server)
                {
                    Fingerprint = options.Tls is { ServerFingerprints: { Count: > 0 } trusted } ? string.Join(',', trusted) : null,
                    CaFile = options.Tls?.ServerCaFile is { } file ? Path.GetFullPath(file) : null,
                    Token = options.Token,
                };
                return await StoreAsync(console, login, hasOwnNames: end is not null);
            }

            if (end.Failure?.UntrustedFingerprint is { } seen && fingerprint is null)
            {
                // A person who has named the authority is not asked to trust another certificate.
                if (console.Line.Has("--server-ca") || await AskAsync(console, TrustQuestion(seen), stop) is not ("y" or "yes"))
                {
                    return await console.FailAsync(
                        $"the server's certificate is not trusted; nothing is stored. Where {seen} is what tunnel2-entry prints at its "
                            + $"start: --trust-fingerprint {seen}",
                        AgentExitCode.ServerUnreachable);
                }

                fingerprint = seen;
            }
            else if (end.Rejection?.Reason == RejectionReason.Unauthorized && options.Token is null
                && await AskSecretAsync(console, stop) is { Length: > 0 } secret)
            {
                token = secret;
            }
            else
            {
                return await console.FailAsync(
                    $"{OptionWords.Of(command, end.Message)} Nothing is stored.",
                    end.Reason is ConnectionEndReason.RejectedPermanently or ConnectionEndReason.RejectedForNow
                        ? AgentExitCode.Rejected
                        : AgentExitCode.ServerUnreachable);
            }
        }
    }

    private static async Task<int> StoreAsync(CommandConsole console, StoredLogin login, bool hasOwnNames)
    {
        try
        {
            login.Write();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return await console.FailAsync($"{login.Path} cannot be written: {exception.Message}", AgentExitCode.InternalError);
        }

        if (console.IsJson)
        {
            return await console.WriteJsonAsync(json =>
            {
                json.WriteString("server", login.Server);
                json.WriteString("server_fingerprint", login.Fingerprint);
                json.WriteBoolean("has_token", login.Token is not null);
                json.WriteString("file", login.Path);
            });
        }

        string next = hasOwnNames
            ? " The token is for certain names: give one of them. Try: tunnel2 http 3000 --name NAME"
            : " Try: tunnel2 http 3000";
        return await console.WriteAsync(PlainText.Clean($"Logged in to {login.Server}; stored in {login.Path}.{next}", 1000) + "\n");
    }

    private static string TrustQuestion(string fingerprint) =>
        "The server's certificate is not issued by an authority that this machine trusts. Its fingerprint is\n"
        + $"  {fingerprint}\n"
        + "tunnel2-entry prints its fingerprint at its start. Are they the same, and is the server to be trusted? [y/N] ";

    private static async Task<string?> AskAsync(CommandConsole console, string question, CancellationToken stop)
    {
        if (console.OpenInput?.Invoke() is not { } input)
        {
            return null;
        }

        await console.Error.WriteAsync(question);
        return (await CommandConsole.WaitAsync(input.ReadLine, stop))?.Trim().ToLowerInvariant();
    }

    private static async Task<string?> AskSecretAsync(CommandConsole console, CancellationToken stop)
    {
        if (console.ReadSecret is not { } read)
        {
            return null;
        }

        await console.Error.WriteAsync("The server wants a token (it is not shown): ");
        string? secret = await CommandConsole.WaitAsync(read, stop);
        await console.Error.WriteLineAsync();
        return secret?.Trim();
    }
}
