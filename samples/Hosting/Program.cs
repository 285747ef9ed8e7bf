using Tunnel2.ProxyEntry.Hosting;

var builder = WebApplication.CreateBuilder(args);

// The tunnel server. Its settings are section Tunnel2 of this program's configuration; values given here win.
builder.Services.AddTunnel2ProxyEntry(KeyValuePair.Create<string, string?>("EntryId", "sample"));

// The web app: in this sample also the service that the tunnel makes public.
var app = builder.Build();
app.MapGet("/", (ProxyEntryServer server) => $"Visitors call {server.HttpEndPoint}, agents connect to {server.UplinkEndPoint}.\n");
app.MapGet("/countdown", async (HttpResponse response) =>
{
    for (var second = 3; second >= 0; second--)
    {
        await response.WriteAsync($"{second}\n");
        await response.Body.FlushAsync();
        await Task.Delay(TimeSpan.FromSeconds(second == 0 ? 0 : 1));
    }
});

try
{
    await app.RunAsync();
    return 0;
}
catch (ProxyEntrySettingsException exception)
{
    // All mistakes at once, a line for each.
    await Console.Error.WriteAsync(exception.Message);
    return 2;
}
