using Tunnel2.Embed;

var builder = WebApplication.CreateBuilder(args);

// A public URL in place of a port: the app opens connections to the server, and visitors' requests come through them.
builder.WebHost.UseTunnel2(builder.Configuration["Server"] ?? "http://localhost", options =>
{
    options.Name = builder.Configuration["Name"];
    options.Token = builder.Configuration["Token"];
});

var app = builder.Build();
app.MapGet("/", (HttpContext context, Tunnel2Urls urls) => $"Hello {context.Connection.RemoteIpAddress}, this is {urls.PublicUrl}\n");
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
catch (Tunnel2OptionsException exception)
{
    // All mistakes at once, a line for each.
    await Console.Error.WriteLineAsync(exception.Message);
    return 2;
}
