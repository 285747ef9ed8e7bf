using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>
/// Holds the listening sockets of a ProxyEntry and hands them to each one that it starts, as systemd does for a unit with socket units.
/// </summary>
internal sealed class SocketHolder : IDisposable
{
    private const int DuplicateDescriptor = 0;
    private const int Backlog = 4096;

    /// <summary>Above what a shell uses itself.</summary>
    private const int FirstPassed = 200;

    /// <summary>Only what is handed over stays open in the started process: as descriptors 3, 4 and so on.</summary>
    private const string Script =
        """
        export LISTEN_PID=$$
        i=3; redirections=
        for descriptor in $1; do redirections="$redirections $i<&$descriptor $descriptor<&-"; i=$((i + 1)); done
        shift
        eval "exec \"\$@\" $redirections"
        """;

    private readonly List<(string Name, Socket Socket)> _sockets = [];

    /// <param name="names">What the sockets are called, in order; each is on a free port of loopback.</param>
    public SocketHolder(params string[] names)
    {
        foreach (var name in names)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            _sockets.Add((name, socket));
            socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            socket.Listen(Backlog);
        }
    }

    /// <summary>Where the socket of a name listens.</summary>
    public IPEndPoint this[string name] => (IPEndPoint)_sockets.First(socket => socket.Name == name).Socket.LocalEndPoint!;

    /// <summary>Starts a ProxyEntry with the sockets; does not wait for it.</summary>
    public ProcessRunner StartEntry(params string[] arguments)
    {
        var passed = _sockets.Select(static socket => Duplicate(socket.Socket)).ToList();
        try
        {
            var environment = new Dictionary<string, string?>
            {
                ["LISTEN_FDS"] = _sockets.Count.ToString(CultureInfo.InvariantCulture),
                ["LISTEN_FDNAMES"] = string.Join(':', _sockets.Select(static socket => socket.Name)),
            };
            return ProcessRunner.Start(
                "bash",
                [
                    "-c",
                    Script,
                    "bash",
                    string.Join(' ', passed.Select(static handle => handle.DangerousGetHandle())),
                    "env",
                    "--default-signal=INT",
                    "dotnet",
                    BuiltPrograms.EntryPath,
                    .. arguments,
                ],
                environment,
                Path.GetTempPath());
        }
        finally
        {
            passed.ForEach(static handle => handle.Dispose());
        }
    }

    public void Dispose()
    {
        foreach (var (_, socket) in _sockets)
        {
            socket.Dispose();
        }
    }

    /// <summary>Another descriptor of the socket, which children inherit.</summary>
    private static SafeSocketHandle Duplicate(Socket socket)
    {
        var descriptor = FileControl((int)socket.Handle, DuplicateDescriptor, FirstPassed);
        Assert.True(descriptor >= FirstPassed, "no descriptor is left");
        return new SafeSocketHandle(descriptor, ownsHandle: true);
    }

    [DllImport("libc", EntryPoint = "fcntl", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int FileControl(int descriptor, int command, int argument);
}
