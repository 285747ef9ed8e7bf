using System.Globalization;
using Tunnel2.LoopsStress;

var seconds = 600;
var seed = Environment.TickCount & int.MaxValue;
for (var i = 0; i < args.Length; i++)
{
    if (args[i] == "--seed" && i + 1 < args.Length && int.TryParse(args[i + 1], NumberStyles.None, CultureInfo.InvariantCulture, out seed))
    {
        i++;
    }
    else if (!int.TryParse(args[i], NumberStyles.None, CultureInfo.InvariantCulture, out seconds) || seconds < 10)
    {
        Console.Error.WriteLine("usage: load-tests/loops-stress/run.sh [seconds, at least 10] [--seed N]");
        return 2;
    }
}

Console.WriteLine($"{seconds} s, --seed {seed}");
return await StressRun.RunAsync(TimeSpan.FromSeconds(seconds), seed) ? 0 : 1;
