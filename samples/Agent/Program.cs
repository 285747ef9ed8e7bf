using Microsoft.Extensions.Hosting;
using Tunnel2.Embed;

var builder = Host.CreateApplicationBuilder(args);

// What `tunnel2 http 3000` does, as a service of this program.
builder.Services.AddTunnel2Agent(options =>
{
    options.Server = builder.Configuration["Server"] ?? "http://localhost";
    options.Service = builder.Configuration["Service"] ?? "3000";
    options.Name = builder.Configuration["Name"];
    options.Token = builder.Configuration["Token"];
});

await builder.Build().RunAsync();
