using System.Globalization;

namespace Tunnel2.LoadTests.Running;

/// <summary>How much processor time the whole machine has used, from <c>/proc/stat</c>.</summary>
/// <param name="BusySeconds">Used by programs and the kernel, on all processors together.</param>
/// <param name="AllSeconds">The same with idle time.</param>
internal sealed record MachineTime(double BusySeconds, double AllSeconds)
{
    private const double TicksPerSecond = 100;
    private const int IdleColumn = 3;
    private const int WaitColumn = 4;
    private const int Columns = 8;

    /// <summary>Reads it.</summary>
    public static MachineTime Read()
    {
        var line = File.ReadLines("/proc/stat").First();
        double[] ticks =
        [
            .. line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1..]
                .Take(Columns)
                .Select(static text => double.Parse(text, CultureInfo.InvariantCulture)),
        ];
        var all = ticks.Sum() / TicksPerSecond;
        return new MachineTime(all - ((ticks[IdleColumn] + ticks[WaitColumn]) / TicksPerSecond), all);
    }

    /// <summary>The share of the processors that others used since, 0 to 1.</summary>
    /// <param name="ourSeconds">What was used by whom we know.</param>
    public double OthersShare(double ourSeconds)
    {
        var now = Read();
        return Math.Clamp((now.BusySeconds - BusySeconds - ourSeconds) / Math.Max(1e-3, now.AllSeconds - AllSeconds), 0, 1);
    }
}
