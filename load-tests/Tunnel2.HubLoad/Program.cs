using Tunnel2.HubLoad;

return args switch
{
    ["server", ..] => await HubServer.RunAsync(args[1..]),
    ["connections", ..] => await LoadRun.ConnectionsAsync(new RunOptions(args[1..])),
    ["open-loop", ..] => await LoadRun.OpenLoopAsync(new RunOptions(args[1..])),
    ["churn", ..] => await ChurnRun.RunAsync(new RunOptions(args[1..])),
    ["limits"] => await LimitsRun.RunAsync(),
    _ => Usage(),
};

static int Usage()
{
    Console.Error.WriteLine("usage: Tunnel2.HubLoad connections [--count 10000] [--ramp 500] [--rate 10] [--seconds 10]");
    Console.Error.WriteLine("       Tunnel2.HubLoad open-loop   [--count 480] [--channels 120] [--rate 2] [--burst 8] [--seconds 20]");
    Console.Error.WriteLine(
        "       Tunnel2.HubLoad churn       [--count 4000] [--ramp 500] [--connects 100] [--disconnects 100] [--rate 10] [--seconds 40]");
    Console.Error.WriteLine("       Tunnel2.HubLoad limits");
    return 2;
}
