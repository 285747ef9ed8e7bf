using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Listening sockets that whoever started this process holds and handed over: the protocol of systemd's socket units (sd_listen_fds(3)). They
/// outlive the process, so connections of a restart wait in their backlogs instead of being refused. An address of the settings is replaced by its
/// socket's, so that everything that is checked of an address is checked of that one. Not thread-safe.
/// </summary>
internal sealed class InheritedSockets : IDisposable
{
    private const int FirstDescriptor = 3;
    private const int MaxDescriptors = 64;
    private const string CountVariable = "LISTEN_FDS";
    private const string NamesVariable = "LISTEN_FDNAMES";
    private const string ProcessVariable = "LISTEN_PID";

    /// <summary>What a socket may be called, and the setting that it takes the place of.</summary>
    private static readonly (string Name, string Key)[] _kinds =
    [
        ("public", SettingKeys.HttpListen), ("https", SettingKeys.HttpsListen), ("uplink", SettingKeys.UplinkListen), ("admin", SettingKeys.AdminListen),
    ];

    private readonly Dictionary<string, Socket> _sockets = [];

    private InheritedSockets()
    {
    }

    /// <summary>The names of the sockets that are still here, for the log.</summary>
    public IReadOnlyList<string> Names => [.. _kinds.Where(kind => _sockets.ContainsKey(kind.Key)).Select(static kind => kind.Name)];

    /// <summary>The settings that say where the sockets listen, as pairs of full key and value.</summary>
    public IReadOnlyList<KeyValuePair<string, string?>> Settings =>
        [.. _sockets.Select(static pair => new KeyValuePair<string, string?>($"{ProxyEntryOptions.SectionName}:{pair.Key}", pair.Value.LocalEndPoint!.ToString()))];

    /// <summary>None, for hosts that hand nothing over.</summary>
    public static InheritedSockets None() => new();

    /// <summary>Takes over what the environment says was handed to this process.</summary>
    /// <param name="environment">Gives the value of a variable, or null.</param>
    /// <param name="processId">This process: descriptors that were meant for another are nobody's.</param>
    /// <param name="errors">Takes all that is wrong.</param>
    /// <param name="firstDescriptor">The first of them; 3 but for tests.</param>
    public static InheritedSockets Read(Func<string, string?> environment, int processId, List<SettingsError> errors, int firstDescriptor = FirstDescriptor)
    {
        var inherited = new InheritedSockets();
        if (environment(ProcessVariable) is not { Length: > 0 } process || environment(CountVariable) is not { Length: > 0 } text)
        {
            return inherited;
        }

        if (process != processId.ToString(CultureInfo.InvariantCulture))
        {
            // As sd_listen_fds says: the variables of a parent that were passed on by mistake.
            return inherited;
        }

        if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var count) || count > MaxDescriptors)
        {
            errors.Add(new SettingsError(CountVariable, $"{SettingsErrorFormatter.Quote(text)} is not a number of sockets from 0 to {MaxDescriptors}."));
            return inherited;
        }

        var names = environment(NamesVariable)?.Split(':') ?? [];
        for (var i = 0; i < count; i++)
        {
            inherited.Add(firstDescriptor + i, i < names.Length ? names[i] : "", errors);
        }

        return inherited;
    }

    /// <summary>Gives the socket of a listener away, to be closed by whoever takes it; null where none was handed over.</summary>
    public Socket? Take(string key) => _sockets.Remove(key, out var socket) ? socket : null;

    /// <summary>Closes what nobody took.</summary>
    public void Dispose()
    {
        foreach (var socket in _sockets.Values)
        {
            socket.Dispose();
        }

        _sockets.Clear();
    }

    private void Add(int descriptor, string name, List<SettingsError> errors)
    {
        var which = string.Create(CultureInfo.InvariantCulture, $"socket {descriptor} ({(name.Length == 0 ? "without a name" : SettingsErrorFormatter.Quote(name))})");
        var key = _kinds.FirstOrDefault(kind => kind.Name == name).Key;
        if (key is null)
        {
            errors.Add(new SettingsError(
                NamesVariable, $"{which}: a socket is called public, https, uplink or admin (FileDescriptorName= in a socket unit of systemd)."));
            return;
        }

        if (_sockets.ContainsKey(key))
        {
            errors.Add(new SettingsError(NamesVariable, $"{which}: there is another of this name. One ListenStream= with a port alone takes IPv4 and IPv6."));
            return;
        }

        Socket? socket = null;
        try
        {
            // Close-on-exec is left as it is, and it is off: .NET then knows that others have the socket too, and disconnects it for none of them when an
            // accept is under way while it closes. This program starts no other.
            socket = new Socket(new SafeSocketHandle(descriptor, ownsHandle: true));
            var isTcp = socket is { SocketType: SocketType.Stream, AddressFamily: AddressFamily.InterNetwork or AddressFamily.InterNetworkV6 };
            if (isTcp && socket.LocalEndPoint is IPEndPoint && (int)socket.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.AcceptConnection)! != 0)
            {
                _sockets.Add(key, socket);
                return;
            }
        }
        catch (Exception exception) when (exception is SocketException or ArgumentException)
        {
            // No socket at all, or none of a kind that .NET knows.
        }

        socket?.Dispose();
        errors.Add(new SettingsError(CountVariable, $"{which}: is not a TCP socket that listens (ListenStream= with a port, and Accept=no)."));
    }
}
