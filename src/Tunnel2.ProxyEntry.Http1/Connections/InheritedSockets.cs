using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Listening sockets that another process holds and handed over: the starter of this process, by the protocol of systemd's socket units
/// (sd_listen_fds(3)), or <c>tunnel2-ports</c> (<see cref="ListenerHolder"/>). They outlive the process, so during a restart connections
/// wait in their backlogs instead of being refused. A socket's address replaces that of the settings, so all checks of addresses apply to
/// it. Not thread-safe.
/// </summary>
internal sealed class InheritedSockets : IDisposable
{
    private const int FirstDescriptor = 3;
    private const int MaxDescriptors = 64;
    private const string CountVariable = "LISTEN_FDS";
    private const string NamesVariable = "LISTEN_FDNAMES";
    private const string ProcessVariable = "LISTEN_PID";
    private const string HolderKey = $"{SettingKeys.Section}:{SettingKeys.ListenersFrom}";

    /// <summary>The name of each socket, and the setting that it replaces.</summary>
    private static readonly (string Name, string Key)[] _kinds =
    [
        ("public", SettingKeys.HttpListen), ("https", SettingKeys.HttpsListen), ("uplink", SettingKeys.UplinkListen),
        ("admin", SettingKeys.AdminListen),
    ];

    private static readonly Source _starter = new(
        NamesVariable,
        CountVariable,
        " (FileDescriptorName= in a socket unit of systemd)",
        " One ListenStream= with a port alone takes IPv4 and IPv6.",
        " (ListenStream= with a port, and Accept=no)");

    private static readonly Source _ports = new(HolderKey, HolderKey, "", "", "");

    private readonly Dictionary<string, Socket> _sockets = [];
    private readonly List<string> _holders = [];

    private InheritedSockets()
    {
    }

    /// <summary>The holders, for the log.</summary>
    public string Holders => string.Join(" and ", _holders);

    /// <summary>The names of the sockets that were not taken yet, for the log.</summary>
    public IReadOnlyList<string> Names => [.. _kinds.Where(kind => _sockets.ContainsKey(kind.Key)).Select(static kind => kind.Name)];

    /// <summary>The settings that say where the sockets listen, as pairs of full key and value.</summary>
    public IReadOnlyList<KeyValuePair<string, string?>> Settings =>
        [
            .. _sockets.Select(
                static pair => new KeyValuePair<string, string?>(
                    $"{SettingKeys.Section}:{pair.Key}", pair.Value.LocalEndPoint!.ToString())),
        ];

    /// <summary>No sockets, for hosts to which none are handed over.</summary>
    public static InheritedSockets None() => new();

    /// <summary>Takes over the sockets that the environment's variables describe.</summary>
    /// <param name="environment">Gives the value of a variable, or null.</param>
    /// <param name="processId">The id of this process; descriptors for another process are ignored.</param>
    /// <param name="errors">Receives all mistakes.</param>
    /// <param name="firstDescriptor">The first descriptor; 3 except in tests.</param>
    public static InheritedSockets Read(
        Func<string, string?> environment, int processId, List<SettingsError> errors, int firstDescriptor = FirstDescriptor)
    {
        var inherited = new InheritedSockets();
        if (environment(ProcessVariable) is not { Length: > 0 } process || environment(CountVariable) is not { Length: > 0 } text)
        {
            return inherited;
        }

        if (process != processId.ToString(CultureInfo.InvariantCulture))
        {
            // As sd_listen_fds specifies: a parent passed on its own variables by mistake.
            return inherited;
        }

        if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var count) || count > MaxDescriptors)
        {
            errors.Add(
                new SettingsError(
                    CountVariable, $"{SettingsErrorFormatter.Quote(text)} is not a number of sockets from 0 to {MaxDescriptors}."));
            return inherited;
        }

        var names = environment(NamesVariable)?.Split(':') ?? [];
        for (var i = 0; i < count; i++)
        {
            inherited.Add(firstDescriptor + i, i < names.Length ? names[i] : "", _starter, errors);
        }

        inherited._holders.Add("the starter of this process");
        return inherited;
    }

    /// <summary>Takes over the sockets of a holder.</summary>
    /// <param name="holder">The holder; its descriptors belong to this object from now on.</param>
    /// <param name="errors">Receives all mistakes.</param>
    public void Add(ListenerHolder holder, List<SettingsError> errors)
    {
        foreach (var (name, descriptor) in holder.TakeDescriptors())
        {
            Add(descriptor, name, _ports, errors);
        }

        _holders.Add(holder.Path);
    }

    /// <summary>Gives away the socket of a listener; the caller closes it. Null when none was handed over.</summary>
    public Socket? Take(string key) => _sockets.Remove(key, out var socket) ? socket : null;

    /// <summary>Closes the sockets that were not taken.</summary>
    public void Dispose()
    {
        foreach (var socket in _sockets.Values)
        {
            socket.Dispose();
        }

        _sockets.Clear();
    }

    private void Add(int descriptor, string name, Source source, List<SettingsError> errors)
    {
        var which = string.Create(
            CultureInfo.InvariantCulture,
            $"socket {descriptor} ({(name.Length == 0 ? "without a name" : SettingsErrorFormatter.Quote(name))})");
        var key = _kinds.FirstOrDefault(kind => kind.Name == name).Key;
        if (key is null)
        {
            errors.Add(new SettingsError(source.NamesKey, $"{which}: a socket is called public, https, uplink or admin{source.NameHint}."));
            return;
        }

        if (_sockets.ContainsKey(key))
        {
            errors.Add(new SettingsError(source.NamesKey, $"{which}: there is another of this name.{source.TwiceHint}"));
            return;
        }

        Socket? socket = null;
        try
        {
            // Close-on-exec stays off. .NET then knows that others share the socket, and does not disconnect it for them when it closes
            // during an accept. This program starts no other.
            socket = new Socket(new SafeSocketHandle(descriptor, ownsHandle: true));
            var isTcp = socket is
            {
                SocketType: SocketType.Stream,
                AddressFamily: AddressFamily.InterNetwork or AddressFamily.InterNetworkV6,
            };
            if (isTcp
                && socket.LocalEndPoint is IPEndPoint
                && (int)socket.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.AcceptConnection)! != 0)
            {
                _sockets.Add(key, socket);
                return;
            }
        }
        catch (Exception exception) when (exception is SocketException or ArgumentException)
        {
            // Not a socket, or of a kind that .NET does not know.
        }

        socket?.Dispose();
        errors.Add(new SettingsError(source.SocketsKey, $"{which}: is not a TCP socket that listens{source.KindHint}."));
    }

    /// <summary>Where sockets come from, for messages about mistakes.</summary>
    /// <param name="NamesKey">The setting or variable to blame for a wrong name.</param>
    /// <param name="SocketsKey">The setting or variable to blame for a wrong socket.</param>
    /// <param name="NameHint">How to name a socket.</param>
    /// <param name="TwiceHint">Why no name is needed twice.</param>
    /// <param name="KindHint">How to get a socket of the right kind.</param>
    private sealed record Source(string NamesKey, string SocketsKey, string NameHint, string TwiceHint, string KindHint);
}
