using System.Globalization;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// All settings of the agent, in the order of the help text. A new one is one more entry, with a property of <see cref="AgentOptions"/>
/// for the code that uses it: command line, file, environment, help and the documents' tables follow.
/// </summary>
internal static class AgentSettingTable
{
    private const int LeastBufferMegabytes = (int)(ReceiveBudget.SmallestLimit / (1024 * 1024));

    private static readonly AgentSetting[] _all =
    [
        new(
            "<upstream>", "PORT|URL", "", "what to forward to: a port, host:port or URL",
            AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel),
        new(
            "--server", "HOST[:PORT]", "127.0.0.1:12001",
            "the server's uplink address; encrypted unless it is this machine; tls://HOST or tcp://HOST (plaintext) decides"),
        new(
            "--server-fingerprint", "F", "",
            "trust the server by its certificate's fingerprint, sha256:…, as it prints it at its start; several with commas"),
        new("--server-ca", "FILE", "the system's", "trust the authorities in this PEM file"),
        new("--client-cert", "FILE", "", "a certificate (PEM) that lets the agent in instead of a token"),
        new("--client-key", "FILE", "", "its key, where it is not in the same file"),
        new(
            "--name", "NAME", "10 random characters", "the public name: 1 to 50 characters of a-z, 0-9 and -",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel) { Aliases = ["--subdomain"] },
        new(
            "--url", "URL", "", "a public URL or host whose first part is the name, such as https://web.example.com",
            AgentSettingPlaces.Flag),
        new(
            "--token", "TOKEN", "",
            "the secret that lets the agent in; better in the variable, because other users can see a command line")
            { Aliases = ["--authtoken"] },
        new(
            "--host-header", "MODE", "keep", "keep: the service sees the visitor's Host; rewrite: its own; or a fixed value",
            Read: static (string text, ref AgentOptions options) =>
            {
                var mistake = HostHeaderPolicy.TryParse(text, out HostHeaderPolicy policy);
                options = options with { HostHeader = policy };
                return mistake;
            }),
        Number(
            "--uplinks", 1, UplinkPolicy.MaxCount, "connections to the server, 1 to 16; auto is 1 to 4 by load",
            static (options, number) => options with { Uplinks = number is { } count ? UplinkPolicy.Fixed(count) : UplinkPolicy.Auto },
            AgentSettingPlaces.All),
        new(
            "--streams", "N", "65536", "requests that a tunnel takes at once, 1 to 65536; those beyond get 503",
            Read: static (string text, ref AgentOptions options) =>
            {
                var isGood = TryParse(text, 1, ProtocolLimits.MaxSlots, out var number);
                options = options with { MaxStreams = number };
                return isGood ? null : $"'{text}' is not a number from 1 to {ProtocolLimits.MaxSlots}";
            }),
        Number(
            "--backend-connections", 1, ConnectionLimit.MaxCount,
            "connections to services at once, of all tunnels together; requests beyond wait their turn; auto is what the limit of open "
            + "files leaves",
            static (options, number) => options with
            {
                BackendConnections = number is { } count ? ConnectionLimit.Fixed(count) : ConnectionLimit.Auto,
            }),
        Number(
            "--buffer-megabytes", LeastBufferMegabytes, 65_536,
            "MiB held of uploads that services do not take, 16 to 65536; beyond it those that stand still are cut; auto is a quarter of "
            + "the memory, 16 to 256",
            static (options, number) => options with { BufferMegabytes = number }),
        Number(
            "--loops", 1, EpollEngine.MaxLoops,
            "event loops, a thread each, 1 to 32; auto is one, and one more with each further connection to the server, up to the "
            + "processors",
            static (options, number) => options with { Loops = number }),
        Switch(
            "--exit-on-failure", "end with exit code 4 when the server cannot be reached, instead of trying again",
            static (options, isOn) => options with { ExitOnFailure = isOn }),
        Switch(
            "--verbose", "a line for every request and every attempt to connect",
            static (options, isOn) => options with { Verbose = isOn }),
        Switch("--json", "one JSON object per line instead of text", static (options, isOn) => options with { Json = isOn }),
        new("--config", "FILE", "tunnels.yml", "the file of 'start'", AgentSettingPlaces.Flag | AgentSettingPlaces.Variable),
        Switch(
            "allow-plaintext", "the token may leave this machine unencrypted",
            static (options, isOn) => options with { AllowPlaintextToken = isOn }, AgentSettingPlaces.Variable),
        new("--dev-session-id", "GUID", "", "becomes the name", AgentSettingPlaces.Flag) { IsOlderForm = true },
        new("--backend-host", "H", "127.0.0.1", "the service's host", AgentSettingPlaces.Flag) { IsOlderForm = true },
        new("--backend-port", "P", "", "the service's port", AgentSettingPlaces.Flag) { IsOlderForm = true },
        new("--tunnel-host", "H", "that of --server", "the server's host", AgentSettingPlaces.Flag) { IsOlderForm = true },
        new("--tunnel-port", "P", "12001", "the server's port", AgentSettingPlaces.Flag) { IsOlderForm = true },
    ];

    /// <summary>All of them.</summary>
    public static IReadOnlyList<AgentSetting> All => _all;

    /// <summary>Variables that other parts of the program read, each with what it does.</summary>
    public static IReadOnlyList<(string Name, string Words)> OtherVariables { get; } =
    [
        (EngineVariables.Engine, "what serves connections: auto, epoll (Linux on x64 or arm64, where auto means it) or portable"),
        ("TUNNEL2_ADMIN_TOKEN", "the --token of 'top', which shows a server's sessions"),
    ];

    private static AgentSetting Number(
        string flag,
        int least,
        int most,
        string words,
        Func<AgentOptions, int?, AgentOptions> set,
        AgentSettingPlaces places = AgentSettingPlaces.Process) =>
        new(flag, "auto|N", "auto", words, places, (string text, ref AgentOptions options) =>
        {
            if (text.Equals("auto", StringComparison.OrdinalIgnoreCase))
            {
                options = set(options, null);
                return null;
            }

            if (!TryParse(text, least, most, out var number))
            {
                return $"'{text}' is not auto or a number from {least} to {most}";
            }

            options = set(options, number);
            return null;
        });

    private static AgentSetting Switch(
        string flag, string words, Func<AgentOptions, bool, AgentOptions> set, AgentSettingPlaces places = AgentSettingPlaces.Process) =>
        new(flag, "", "", words, places, (string text, ref AgentOptions options) =>
        {
            var isOn = text.ToLowerInvariant() is "1" or "true" or "yes";
            options = set(options, isOn);
            return isOn || text.ToLowerInvariant() is "0" or "false" or "no" ? null : "is neither true nor false";
        });

    private static bool TryParse(string text, int least, int most, out int number) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out number) && number >= least && number <= most;
}
