using System.Runtime.InteropServices;

namespace Tunnel2.Ports;

/// <summary>The program <c>tunnel2-ports</c>: listens, and gives its listening sockets to each ProxyEntry that connects.</summary>
internal static class PortsCommand
{
    /// <summary>An address or the socket's path is not available.</summary>
    private const int ExitStartFailed = 1;

    private const int ExitWrongWords = 2;

    private const string Usage = "usage: tunnel2-ports --socket PATH NAME=ADDRESS...";

    private const string Help = Usage +
        """


        Holds the listening sockets of tunnel2-entry, so that visitors and agents who come while it is restarted or replaced wait in them
        instead of being refused. It accepts no connection itself. Set Tunnel2:ListenersFrom of tunnel2-entry to the same PATH.

          --socket PATH           the Unix socket that gives the listening sockets away, to processes of the same user only
          NAME=ADDRESS            public, https, uplink or admin, and where to listen: 127.0.0.1:12000, [::1]:12000, or *:12000 for all
                                  addresses

          -h, -?, --help          print this help
          -v, --version           print the version

        Exit codes:
          0  it was stopped
          1  an address or the path is not available
          2  the command line is wrong

        """;

    public static int Run(string[] args, TextWriter output, TextWriter error)
    {
        if (args.Any(static arg => arg is "--help" or "-h" or "-?"))
        {
            output.Write(Help);
            return 0;
        }

        if (args.Any(static arg => arg is "--version" or "-v"))
        {
            output.WriteLine($"tunnel2-ports {typeof(PortsCommand).Assembly.GetName().Version?.ToString(3)}");
            return 0;
        }

        if (PortsOptions.Parse(args, out var mistake) is not { } options)
        {
            error.WriteLine($"tunnel2-ports: {mistake}");
            error.WriteLine(Usage);
            return ExitWrongWords;
        }

        if (!OperatingSystem.IsLinux())
        {
            error.WriteLine("tunnel2-ports: only Linux gives sockets to other processes in the way that this needs");
            return ExitStartFailed;
        }

        // Registered first: the first process of a container ignores signals that it has no handler for.
        HandoverServer? server = null;
        var isStopping = false;
        var gate = new Lock();
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, OnSignal);
        using var terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, OnSignal);

        // A closed terminal, or a reload of what has nothing to read again, must not close the sockets of a running server.
        using var hangUp = PosixSignalRegistration.Create(PosixSignal.SIGHUP, static context => context.Cancel = true);
        try
        {
            var started = HandoverServer.Start(options, output.WriteLine);
            lock (gate)
            {
                server = started;
                if (isStopping)
                {
                    server.Stop();
                }
            }
        }
        catch (IOException exception)
        {
            error.WriteLine($"tunnel2-ports: {exception.Message}");
            return ExitStartFailed;
        }

        server.Run();
        return 0;

        void OnSignal(PosixSignalContext context)
        {
            context.Cancel = true;
            lock (gate)
            {
                isStopping = true;
                server?.Stop();
            }
        }
    }
}
