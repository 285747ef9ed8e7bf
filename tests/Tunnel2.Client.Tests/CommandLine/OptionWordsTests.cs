using System.Text.RegularExpressions;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;

namespace Tunnel2.Client.Tests.CommandLine;

/// <summary>An error sentence names no option that its command lacks, and that no other command in it has.</summary>
public sealed class OptionWordsTests : IDisposable
{
    private static readonly ServerEndpoint _server = new("127.0.0.1", 1);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");

    /// <summary>Commands that call no server of their own choice, and change nothing outside of a folder.</summary>
    public static TheoryData<string> Looking => [.. CommandTable.All
        .Where(static command => !command.RunsTunnels && command.Name is not ("config edit" or "help")
            && command.Group is not ("service" or "inspect" or "token" or "tap" or "top"))
        .Select(static command => command.Name)];

    public static TheoryData<string, string> Ends
    {
        get
        {
            var data = new TheoryData<string, string>();
            foreach (string command in new[] { "login tls://127.0.0.1:1", "doctor --server tls://127.0.0.1:1 --token x" })
            {
                // A trial of a session with a random name counts as right where only the name is refused, and has no port.
                foreach (RejectionReason reason in Enum.GetValues<RejectionReason>().Where(static reason => reason
                    is not (RejectionReason.NameTaken or RejectionReason.NameNotAllowed or RejectionReason.NameKept
                        or RejectionReason.PortNotAvailable)))
                {
                    data.Add(command, $"rejected {reason}");
                }

                foreach (string detail in new[]
                {
                    "give the authority by --proxy-ca", "wants a user: --proxy URL, better in TUNNEL2_PROXY",
                    "trust it by --server-fingerprint F, or give the authority by --server-ca",
                    "a file of --server-ca, --client-cert or --client-key cannot be used",
                })
                {
                    data.Add(command, detail);
                }
            }

            return data;
        }
    }

    public void Dispose() => _folder.Delete(recursive: true);

    [Theory]
    [MemberData(nameof(Ends))]
    public async Task What_a_session_ended_with_is_said_in_the_commands_own_options(string command, string how)
    {
        ConnectionEnd end = how.Split(' ') is ["rejected", var reason]
            ? ConnectionEnd.RejectedPermanently(new Rejection(Enum.Parse<RejectionReason>(reason), "code", ""))
            : ConnectionEnd.Unreachable(ConnectFailure.Create(_server, ConnectFailureReason.TlsFailed, how));
        await CheckAsync(command, end);
    }

    [Theory]
    [MemberData(nameof(Looking))]
    public async Task What_is_wrong_with_a_value_is_said_in_the_commands_own_options(string name)
    {
        CommandSpec command = CommandTable.All.Single(command => command.Name == name);
        await CheckAsync(name, null);
        foreach (CommandOption option in command.ShownOptions)
        {
            foreach (string argument in new[] { "", " nonsense:0:0" })
            {
                await CheckAsync($"{name}{argument} {option.Flag}{(option.IsSwitch ? "" : " ?:?")}", null);
            }
        }
    }

    private async Task CheckAsync(string line, ConnectionEnd? end)
    {
        using var output = new StringWriter();
        using var error = new StringWriter();
        await AgentCli.RunAsync(
            line.Split(' '), Environment, _ => new Runner(end), output, error, TestContext.Current.CancellationToken);

        // Words in quotes are a command line of their own.
        string said = Regex.Replace(output.ToString() + error, "'tunnel2 [^']*'", "");
        CommandSpec command = CommandTable.All.Single(command => (line + " ").StartsWith(command.Name + " ", StringComparison.Ordinal));
        string[] known = [.. command.AllOptions.Append(CommandTable.Help).Append(CommandTable.Version).SelectMany(static one => one.Names)];
        Assert.All(
            Regex.Matches(said, "(?<![A-Za-z0-9-])--[a-z][a-z0-9-]*").Select(static match => match.Value),
            flag => Assert.True(known.Contains(flag), $"{line} has no {flag}: {said}"));
    }

    private string? Environment(string name) => name switch
    {
        "XDG_CONFIG_HOME" or "XDG_STATE_HOME" or "XDG_RUNTIME_DIR" => _folder.FullName,
        "TUNNEL2_SERVER" => "tcp://127.0.0.1:1",
        _ => null,
    };

    private sealed class Runner(ConnectionEnd? end) : IAgentRunner
    {
        public Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop)
        {
            events.ConnectionEnded(end ?? ConnectionEnd.Unreachable(ConnectFailure.Create(_server, ConnectFailureReason.Refused)));
            return Task.FromResult(4);
        }
    }
}
